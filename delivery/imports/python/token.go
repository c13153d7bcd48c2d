package python

// kind is what a token is to the grammar.
type kind uint8

const (
	kindEnd kind = iota // of the logical line
	kindName
	kindKeyword
	kindNumber
	kindString
	kindFormat     // where an f-string begins
	kindFormatEnd  // where it ends
	kindField      // { in an f-string
	kindFieldEnd   // } in an f-string
	kindSpec       // : before a field's format
	kindConversion // !r
	kindOpen       // ( [ {
	kindClose      // ) ] }
	kindBinary     // an operator that only stands between two operands
	kindSign       // + and -
	kindTilde
	kindStar
	kindStars
	kindSlash
	kindAt
	kindDot
	kindEllipsis
	kindComma
	kindColon
	kindSemicolon
	kindAssign
	kindAugmented
	kindWalrus
	kindArrow
)

// token is one of a logical line.
type token struct {
	kind  kind
	word  word // of a keyword
	start int32
	end   int32
	line  int32
}

// word is a keyword; what is only sometimes one (match, case, type, lazy) is a name.
type word uint8

const (
	wordNone word = iota
	wordFalse
	wordNoneValue
	wordTrue
	wordAnd
	wordAs
	wordAssert
	wordAsync
	wordAwait
	wordBreak
	wordClass
	wordContinue
	wordDef
	wordDel
	wordElif
	wordElse
	wordExcept
	wordFinally
	wordFor
	wordFrom
	wordGlobal
	wordIf
	wordImport
	wordIn
	wordIs
	wordLambda
	wordNonlocal
	wordNot
	wordOr
	wordPass
	wordRaise
	wordReturn
	wordTry
	wordWhile
	wordWith
	wordYield
)

// wordsByName is each keyword by its text.
func wordsByName() map[string]word {
	words := map[string]word{}
	for i, text := range []string{
		"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
		"del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
		"nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
	} {
		words[text] = word(i + 1)
	}
	return words
}

// operator is the longest operator at the beginning of text, and its length; 0 where there is none.
func operator(text []byte) (kind, int) {
	at := func(i int) byte {
		if i < len(text) {
			return text[i]
		}
		return 0
	}
	switch a, b, c := at(0), at(1), at(2); {
	case a == '.' && b == '.' && c == '.':
		return kindEllipsis, 3
	case c == '=' && a == b && (a == '*' || a == '/' || a == '<' || a == '>'):
		return kindAugmented, 3
	case a == '-' && b == '>':
		return kindArrow, 2
	case a == ':' && b == '=':
		return kindWalrus, 2
	case a == '*' && b == '*':
		return kindStars, 2
	case b == '=' && (a == '=' || a == '!' || a == '<' || a == '>'), a == b && (a == '/' || a == '<' || a == '>'):
		return kindBinary, 2
	case b == '=' && augments(a):
		return kindAugmented, 2
	default:
		return single(a)
	}
}

func augments(c byte) bool {
	switch c {
	case '+', '-', '*', '/', '%', '@', '&', '|', '^':
		return true
	}
	return false
}

// single is the operator of one character.
func single(c byte) (kind, int) {
	switch c {
	case '+', '-':
		return kindSign, 1
	case '%', '&', '|', '^', '<', '>':
		return kindBinary, 1
	case '~':
		return kindTilde, 1
	case '*':
		return kindStar, 1
	case '/':
		return kindSlash, 1
	case '@':
		return kindAt, 1
	case '.':
		return kindDot, 1
	case ',':
		return kindComma, 1
	case ':':
		return kindColon, 1
	case ';':
		return kindSemicolon, 1
	case '=':
		return kindAssign, 1
	}
	return kindEnd, 0
}
