/**
 * The cost in tokens of each character of a text, given the character before it: the tables of token-count.ts.
 *
 * They are the smallest costs whose sum is never below the largest count of a vocabulary's tokenizers, over 4,250 texts
 * of 500 characters (60 languages, code in 15 languages, Markdown, JSON, base64, hex, digits, random words), found by
 * linear programming and raised by 17 %. Among 1,370 further texts, to which the costs were not fitted, one had a count
 * below a tokenizer's, by 5 % (a list of file names). In 87 languages with few speakers, one text of 17 is counted too
 * low, and in a `wide` vocabulary one of four, by a quarter at most. A pair of letters is enough to distinguish
 * English, whose words are tokens, from languages and names whose words are cut into many.
 *
 * Tokenizers of the `any` vocabulary: o200k and cl100k (OpenAI), Claude 2, Llama 2 and 3, Gemma 3, DeepSeek V3, Mistral
 * NeMo, Qwen 3; of the `wide` one: o200k and Gemma 3.
 *
 * Costs are in parts of a token; in text, each is a digit to the base of 36.
 */

/** The number of parts of a token in which costs are counted. */
export const PARTS_PER_TOKEN = 30;

export interface AsciiCosts {
  /** A letter after a letter: a row for each first letter, a column for each second. */
  pairs: string;
  /** A letter that begins a word. */
  starts: string;
  /** The punctuation marks of ASCII, in its order. */
  punctuation: string;
  /** A letter that begins a word, and does not follow a blank: in addition. */
  afterOther: number;
  /** A letter after a Latin letter outside of ASCII. */
  afterLatin: number;
  /** A capital after a small letter: in addition. */
  camel: number;
  /** A capital after a capital: in addition. */
  capital: number;
  digit: number;
  /** In addition. A single blank belongs only to the word after it. */
  digitAfterBlank: number;
  /** In addition. */
  punctuationAfterBlank: number;
  secondBlank: number;
  laterBlank: number;
  /** The first blank of an indentation. */
  blankAfterBreak: number;
  newline: number;
  newlineAfterNewline: number;
  tab: number;
  tabAfterTab: number;
  /** A character of a ruler, such as `----`, after the same one. */
  ruler: number;
  /** Any other punctuation mark after the same one. */
  repeated: number;
  /** A Latin letter outside of ASCII that begins a word: in addition. */
  latinStart: number;
}

/** Vocabularies of at least 32,000 tokens. */
export const ANY_ASCII: AsciiCosts = {
  pairs:
    'i511je1rcxxk7ixax571d1xxvx' +
    'bxxx8eux11x1xxaxx1px1xxx1x' +
    '1xsx1xx1dx1fbx1xx2x1vdpxdx' +
    'dgx91x8xuxxnxx1dx11xp2xxdd' +
    '1x11x1sxxxx5acxe111gxx111x' +
    '1xdx11mx1xxqxx1xx1f4sxxx1x' +
    'xxxx2xlkaxxrx11tx11xvxxxxd' +
    '8dxx1xxx7xxxxd3xx1i1xxxxxl' +
    '911cv11xxxxg1111xh11x1x3x1' +
    '8xxx1xxxxxxxxxxxxx1xdxxxxx' +
    'xxxxexxxxdxxxxdxxdxxxoxxrx' +
    'mxx111xx2xx5xx1dxx354uxxcx' +
    '6fx11xxxoxx62x88xxgxpxxxxx' +
    'cx11cr6xuxxed9txxx111cxx8x' +
    'hi11111xdsmg11x1x112111dxx' +
    '5df1axjdnxd11x68xdl1lxx11x' +
    'dxxxxxxxxxxxxxxdxxxx1xxxxx' +
    'axd11d1xixx3b61xd11ni6xx1x' +
    'xxdx1xxatd1xxx2bxkd1ecpx1x' +
    '1x4xaxx11xdxgxb1xa31xx1x1x' +
    'h4de1xxxddx1skx7x111xxxxxx' +
    '1xxx1xdxxxxxnxxxxxfxxxxxxx' +
    '7vxxuxxg1xxxd13xxdtxxx1xxx' +
    'xx1x1xxxdxxxxxx1xxx1xxdxnd' +
    'xdxxkxxxxxdxdof1xd2o1xxxxx' +
    'txxxkxxxxxxxxxxxxdxxxxxxxx',
  starts: 'jo9vxpuqkuzyrpy9zeedllcnzz',
  punctuation: 'bbubuuffgkuuuujjuuucuguqbiikbubu',
  afterOther: 13,
  afterLatin: 4,
  camel: 11,
  capital: 9,
  digit: 30,
  digitAfterBlank: 30,
  punctuationAfterBlank: 11,
  secondBlank: 28,
  laterBlank: 2,
  blankAfterBreak: 30,
  newline: 30,
  newlineAfterNewline: 30,
  tab: 30,
  tabAfterTab: 30,
  ruler: 4,
  repeated: 14,
  latinStart: 35,
};

/** Vocabularies of at least 200,000 tokens. */
export const WIDE_ASCII: AsciiCosts = {
  pairs:
    '41c8xxb15mx211x1x1311csxxx' +
    '8dxx2hxx11x1lx1dxdgx1xxxhx' +
    'xx9x1xx1ax141x1xxfd1lxxx9x' +
    '6k1f1x1x4td11x1xd1jd4jpxgx' +
    '2111x1dxd1xf87dd1115ma911x' +
    '5xxr11dx1xxxxx1dq1p4xxxxxd' +
    'xxxx1xx1mxm31i1bx111lxxx7x' +
    'hdxi1dxd1xxnx11dx1n1cxxxxx' +
    '2fd4e63xxxx11118xb31c1x1x1' +
    'xxxx1xxxexxxxxxxxxgx1xdxxx' +
    'xxdd2xxxpdx1xx7xxd1sxxxemx' +
    'hh211fxd11x1xx1jxd2bcsxx2x' +
    'cxx11x1x1xxk1138xx8x1xxx9d' +
    'go11h17x6xxdb7e5xc111oxj1x' +
    'xl11o1116w211191x1d7111dx1' +
    '2tdd8xtd9xx1wd11x3q11rxx1x' +
    'xxxxxxxxxxx9xxxdqxxx1xxxxx' +
    '1xl11d2d9x9ji511d1111e1x1x' +
    'xv1x1kq1292xxd81xf9211dx11' +
    '2x3k19x11xdkld61x11bbx1x1x' +
    'd84c16xx91x1xbx1x111xxxxdx' +
    '1xpx1xdxdxxdedxxxx1xxpxdwx' +
    'cudxsvxh1xxxetdddg3xxx1xdl' +
    'dx1x1xxx6xxjsxx1xxx8xxx2x1' +
    'l11d1xxxdxntx7h1x1qp1xxlxx' +
    '1xxdoxdxxxxxxxwxx1xd7xxxxx',
  starts: 'fmbmrvofrezimjmdzrjqjk9pz9',
  punctuation: 'bbububfbdruuuudmuuubifblopmllubu',
  afterOther: 14,
  afterLatin: 20,
  camel: 8,
  capital: 2,
  digit: 30,
  digitAfterBlank: 30,
  punctuationAfterBlank: 14,
  secondBlank: 30,
  laterBlank: 1,
  blankAfterBreak: 30,
  newline: 30,
  newlineAfterNewline: 2,
  tab: 30,
  tabAfterTab: 2,
  ruler: 2,
  repeated: 18,
  latinStart: 35,
};

export interface Script {
  name: string;
  /** Code units, including the last. */
  from: number;
  to: number;
  /** Its letters occur in words together with ASCII letters. */
  latin: boolean;
  /** The cost of a character, and the additional cost of the first one after another script. */
  any: readonly [number, number];
  wide: readonly [number, number];
}

/** Scripts outside of ASCII. Each byte of a character of any other script costs a token. */
export const SCRIPTS: readonly Script[] = [
  { name: 'Latin-1 signs', from: 0x80, to: 0xbf, latin: false, any: [19, 35], wide: [18, 9] },
  { name: 'Latin-1 letters', from: 0xc0, to: 0xff, latin: true, any: [58, 0], wide: [30, 0] },
  { name: 'Latin Extended-A', from: 0x100, to: 0x17f, latin: true, any: [60, 0], wide: [28, 0] },
  { name: 'Latin Extended-B, phonetic', from: 0x180, to: 0x2ff, latin: true, any: [60, 0], wide: [33, 0] },
  { name: 'combining marks', from: 0x300, to: 0x36f, latin: true, any: [57, 0], wide: [35, 0] },
  { name: 'Greek', from: 0x370, to: 0x3ff, latin: false, any: [46, 9], wide: [11, 18] },
  { name: 'Cyrillic beside Russian', from: 0x400, to: 0x40f, latin: false, any: [60, 9], wide: [10, 9] },
  { name: 'Russian', from: 0x410, to: 0x44f, latin: false, any: [16, 35], wide: [7, 35] },
  { name: 'Cyrillic beside Russian', from: 0x450, to: 0x52f, latin: false, any: [60, 9], wide: [10, 9] },
  { name: 'Armenian', from: 0x530, to: 0x58f, latin: false, any: [60, 35], wide: [19, 18] },
  { name: 'Hebrew', from: 0x590, to: 0x5ff, latin: false, any: [36, 33], wide: [18, 9] },
  { name: 'Arabic', from: 0x600, to: 0x6ff, latin: false, any: [42, 35], wide: [7, 35] },
  { name: 'Thaana', from: 0x780, to: 0x7bf, latin: false, any: [60, 35], wide: [60, 35] },
  { name: 'Devanagari', from: 0x900, to: 0x97f, latin: false, any: [48, 9], wide: [12, 9] },
  { name: 'Bengali', from: 0x980, to: 0x9ff, latin: false, any: [68, 35], wide: [12, 15] },
  { name: 'Gurmukhi', from: 0xa00, to: 0xa7f, latin: false, any: [90, 35], wide: [21, 9] },
  { name: 'Gujarati', from: 0xa80, to: 0xaff, latin: false, any: [90, 35], wide: [14, 9] },
  { name: 'Tamil', from: 0xb80, to: 0xbff, latin: false, any: [71, 35], wide: [13, 9] },
  { name: 'Telugu', from: 0xc00, to: 0xc7f, latin: false, any: [90, 35], wide: [17, 9] },
  { name: 'Kannada', from: 0xc80, to: 0xcff, latin: false, any: [90, 35], wide: [13, 22] },
  { name: 'Malayalam', from: 0xd00, to: 0xd7f, latin: false, any: [82, 35], wide: [13, 9] },
  { name: 'Sinhala', from: 0xd80, to: 0xdff, latin: false, any: [90, 35], wide: [18, 35] },
  { name: 'Thai', from: 0xe00, to: 0xe7f, latin: false, any: [65, 12], wide: [15, 24] },
  { name: 'Lao', from: 0xe80, to: 0xeff, latin: false, any: [90, 35], wide: [66, 35] },
  { name: 'Tibetan', from: 0xf00, to: 0xfff, latin: false, any: [90, 35], wide: [54, 35] },
  { name: 'Burmese', from: 0x1000, to: 0x109f, latin: false, any: [72, 35], wide: [19, 35] },
  { name: 'Georgian', from: 0x10a0, to: 0x10ff, latin: false, any: [71, 35], wide: [11, 35] },
  { name: 'Hangul Jamo', from: 0x1100, to: 0x11ff, latin: false, any: [90, 35], wide: [90, 35] },
  { name: 'Ethiopic', from: 0x1200, to: 0x139f, latin: false, any: [90, 35], wide: [71, 9] },
  { name: 'Khmer', from: 0x1780, to: 0x17ff, latin: false, any: [90, 35], wide: [22, 35] },
  { name: 'Latin Extended Additional: Vietnamese', from: 0x1e00, to: 0x1eff, latin: true, any: [84, 0], wide: [36, 0] },
  { name: 'blanks and joiners', from: 0x2000, to: 0x200f, latin: false, any: [90, 0], wide: [60, 0] },
  { name: 'punctuation', from: 0x2010, to: 0x206f, latin: false, any: [18, 19], wide: [18, 9] },
  { name: 'signs', from: 0x2070, to: 0x24ff, latin: false, any: [33, 35], wide: [36, 35] },
  { name: 'boxes', from: 0x2500, to: 0x25ff, latin: false, any: [24, 35], wide: [21, 28] },
  { name: 'pictures', from: 0x2600, to: 0x2bff, latin: false, any: [67, 35], wide: [18, 17] },
  { name: 'CJK punctuation', from: 0x3000, to: 0x303f, latin: false, any: [18, 9], wide: [18, 17] },
  { name: 'Kana', from: 0x3040, to: 0x30ff, latin: false, any: [35, 9], wide: [25, 9] },
  { name: 'Chinese characters', from: 0x3400, to: 0x9fff, latin: false, any: [58, 9], wide: [28, 9] },
  { name: 'Hangul', from: 0xac00, to: 0xd7af, latin: false, any: [63, 35], wide: [15, 35] },
  { name: 'full-width forms', from: 0xff00, to: 0xffef, latin: false, any: [90, 35], wide: [79, 35] },
];

/** Emoji (U+1F000 to U+1FAFF). */
export const EMOJI = { any: 120, wide: 65 } as const;
