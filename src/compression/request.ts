/**
 * The changes that the words of a prompt allow.
 *
 * A request for characters, lines, a format or an exact copy, or to change a document, gets the prompt unchanged: its
 * notation may be the question. The words are known in the languages below. A prompt in another language, or without
 * words around its JSON, allows nothing, because its request is unknown.
 */
import { findJson } from './json-text.ts';
import { once } from './once.ts';

export interface Allowed {
  /**
   * JSON may be written differently, with the same value: the request is understood, and does not ask for its notation.
   */
  json: boolean;
  /** The same, although the request may not be understood. */
  unlessAsked: boolean;
  /** White space and phrases of instructions may become shorter: English, for the model, and not about texts. */
  prose: boolean;
}

const NOTHING: Allowed = { json: false, unlessAsked: false, prose: false };

/**
 * Frequent words of the languages whose requests are understood: first those that no neighbouring language has, then
 * others. One letter is no evidence.
 */
const FREQUENT_WORDS: Readonly<Record<string, readonly [own: string, shared: string]>> = {
  english: [
    'the and which who what with that you your from have has does they their there how when were it not each every only them always never please answer concise keep avoid think',
    'an or of to in is are was be for on at by as do no my me we our all',
  ],
  german: [
    'und ist sind nicht welche welcher welches welchen wie mit für auf das ich eine einen einer zum zur',
    'der die den dem des ein oder war kein von zu im was wer hat haben du wir alle nur nach bei',
  ],
  french: [
    'est sont dans avec quel quelle quels quelles combien qui elle nous vous cette',
    'le la les un une des du de et ou pour par sur que quoi ne pas tous toutes au aux ce il en',
  ],
  spanish: [
    'cuál cuáles cuánto cuántos cuántas qué quién más están los hay',
    'el la las un una unos de del es son en para por con que no todos todas al se su lo tiene',
  ],
  italian: [
    'quale quali quanto quanti che della delle gli è sono più',
    'il lo la le un una di del dei in per con chi non tutti tutte al da dal si ha',
  ],
  portuguese: [
    'qual quais quantos quantas não são uma dos das mais',
    'os as um de do da em no na para por com que quem todos todas ao se tem',
  ],
  // Not understood; they share short words with English.
  others: ['', 'de het een van en die dat is in was of at det er den på som be az nem és by my to'],
};
const LANGUAGES = Object.values(FREQUENT_WORDS).map(([own, shared]) => ({
  own: new Set(own.split(' ')),
  all: new Set(`${own} ${shared}`.split(' ')),
}));
/** The share of words that must be frequent ones of one language. Texts in that language have about twice as many. */
const KNOWN_SHARE = 0.2;
/**
 * The share of frequent English words, above that of any other language, that suffices without a word of English's own.
 */
const CERTAIN_SHARE = 0.5;

/** Words that ask for the notation, a copy or a change. `*` stands for any ending. */
const NOTATION = [
  // English
  'exact* verbatim literal* unchanged unmodified unalter* untouch* identical* byte bit char character letter whitespace blank space spaced spacing',
  'tab indent* newline line column offset index length size format* reformat* prett* beautif* minif* compact* layout style notation syntax valid*',
  'invalid* lint* pars* schema template example sample diff* checksum hash* sha md5 crc sign signed signature encod* decod* base64 escap* serializ*',
  'stringif* copy copie* copying clon* duplicat* repeat* reproduc* echo* mirror* print* quot* raw preserv* edit* fix fixe* fixing repair* correct*',
  'patch* updat* modif* replac* insert* append* delet* renam* convert* transform* translat* rewrit* paste* token* unicode utf* backslash* bracket',
  'brace comma colon punctuation commit yaml xml csv markdown html render* typo word file folder director* code program* repositor* script',
  'same again back recit* dump* tidy* tidie* clean* readab* align* nice* long big wide looks wrote written typed typing author object array document visual* shape height width ascii screen swap* aloud spell* mark* highlight* underlin* bold annotat* redact* mask*',
  'anonymi* obfuscat* encrypt* decrypt* improve* polish*',
  // German
  'genau* wörtlich* wortwörtlich* unverändert* gleich* zeichen buchstabe* leer* zeile* einzug einrück* einger* umbruch umbrüch* spalte* kopie*',
  'wiederhol* zitier* zitat zurück* ausgeb* ausgabe gib gebe ergänz* änder* korrig* reparier* füg* ersetz* entfern* lösch* umbenenn* wandl*',
  'darstell* schreibweise umwandl* übersetz* beispiel* vorlage gültig* original* bewahr* behalt* beibehalt* lang* länge* breit* groß klammer* datei* quelltext*',
  // French
  'présent* littéral* mot tel telle inchang* identique* caractère* lettre* espace* ligne* colonne* recopi* copi* répét* reprodui* renvo* retourn* affich*',
  'rend* corrig* répar* ajout* remplac* supprim* renomm* tradui* exemple* modèle* schéma* conserv* gard* longueur octet imprim*',
  // Spanish and Portuguese
  'presentad* textual* tal sin igual* idéntic* carácter* caracter* caráter* letra espaci* espaç* línea* linea* linha* columna* coluna* sangr* recuo repit*',
  'repet* devuelv* devolv* retorn* muestr* mostr* exib* imprim* cambi* alter* mud* corrij* correg* arregl* consert* agreg* adicion* acresc* añad*',
  'reempla* sustitu* substitu* elimin* borr* apag* remov* renombr* renome* conviert* traduc* traduz* ejemplo* exemplo* plantilla modelo esquema',
  'válid* manten* mant longitud comprimento exat* inalter* sem',
  // Italian
  'esatt* letteral* testual* tale così invariat* uguale caratter* lettera lettere spazi* riga righe colonn* rientr* ripet* riprod* restitu* ritorn*',
  'stamp* corregg* aggiust* aggiung* sostitu* rimuov* cancell* rinomin* esempi* lunghezza',
].join(' ');
/** A request for the document itself. */
const HAND_OVER =
  /(?<![\p{L}\p{M}])(?:return|output|show|display|write|send|give|hand|respond|reply|answer|keep|leave|store|save|post|put|make(?! sure)|create|generate|produce|add|change|set|sort|filter|drop|merge|split|swap|move|wrap|restate|relay|forward|transmit|deliver|pass|provide|supply|include|embed|inline|type|say|present|emit|draw|turn|get|do)(?![\p{L}\p{M}])[^.!?\n]{0,60}(?<![\p{L}\p{M}])(?:it|its|this|that|these|those|same|json|objects?|arrays?|payload|body|documents?|files?|config\w*|below|following|above|input|back|data)(?![\p{L}\p{M}])/iu;

/** Words that speak of a text, work on one, point to one, or name its teller: the following words may be that text. */
const TEXTS = [
  'this these those following follow follows below above next previous preceding attached enclosed mine said say says saying wrote write',
  'writes writing written text passage paragraph sentence phras* rephras* paraphras* word worded wording spell* proofread* grammar* summar* shorten*',
  'title heading message mail email letter note post tweet comment review article essay poem* poet* story stories haiku lyric song verse speech dialog*',
  'conversation chat transcript log caption slogan headline subtitle script draft* reply replie* respon* received got sent read aloud polite* formal*',
  'informal* tone sentiment classif* categor* label* grade grading score scoring detect* toxic* spam german french spanish italian portuguese english',
  'dutch polish russian chinese japanese korean arabic hindi turkish latin greek count counts counted counting how vowel consonant syllable rhyme* pronounc* synonym acronym',
  'abbreviat* plagiar* sarcas* iron* cite* citation mention* speak spoke spoken voice dictat* explain* continue* simplif* expand* interpret* analy* evaluat* assess* judge* discuss* describ*',
  'clause statement claim argument quiz riddle puzzle guess* rank* fact.check* pitch* compare* author speaker we us our me my he she his her him want*',
].join(' ');

/** A narrator speaks in the first person. */
const FIRST_PERSON = /(?<![\p{L}\p{M}'’])I(?![\p{L}\p{M}])/u;

/** One of the words, also in the plural. */
const wordsPattern = (words: string) =>
  new RegExp(
    `(?<![\\p{L}\\p{M}])(?:${words
      .split(' ')
      .map((word) => (word.endsWith('*') ? word.slice(0, -1) : `${word}s?(?![\\p{L}\\p{M}])`))
      .join('|')})`,
    'iu',
  );
/** `as is`, `as it stands`, `how does it look`. */
const AS_IT_IS =
  /(?<![\p{L}\p{M}]|such time )as[ -](?:is|it (?:is|was|stands)|they (?:are|were|stand))(?![\p{L}\p{M}])|(?<![\p{L}\p{M}])how do(?:es)? [^.?!\n]{0,60}look/iu;
const asksForNotation = once(() => wordsPattern(NOTATION));
const speaksOfTexts = once(() => wordsPattern(TEXTS));
const WORDS = /[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*/gu;

/**
 * A sentence at the beginning that addresses a model gives it instructions; other sentences may be the subject of a
 * prompt.
 */
const ADDRESSES = /^\s*You(?:r)? [a-z]/;

/** The changes that all texts of a prompt allow together: an instruction in one may be about another. */
export function allowedBy(texts: readonly string[]): Allowed {
  const words = texts.map(withoutJson).join('\n');
  if ([asksForNotation(), HAND_OVER, AS_IT_IS].some((asks) => asks.test(words))) return NOTHING;
  const languages = new Set(words.split('\n').map(detectLanguage));
  languages.delete(null);
  const isEnglish = languages.size === 1 && languages.has(ENGLISH);
  const isQuestion = words.includes('?');
  return {
    unlessAsked: true,
    // Verbs other than English ones are not known, but a question asks for none.
    json: isEnglish || (isQuestion && languages.size > 0 && !languages.has(UNKNOWN)),
    // A question may be about the sentences beside it.
    prose:
      isEnglish &&
      !isQuestion &&
      ADDRESSES.test(texts[0] ?? '') &&
      ![speaksOfTexts(), FIRST_PERSON].some((speaks) => speaks.test(words)),
  };
}

/** The places in `LANGUAGES`. */
const ENGLISH = 0;
const UNKNOWN = -1;

/** The language of a line; `null` if it has fewer than two words. */
function detectLanguage(line: string): number | null {
  const words = Array.from(line.toLowerCase().matchAll(WORDS), ([word]) => word);
  if (words.length < 2) return null;
  const shares = LANGUAGES.map(({ own, all }) => ({
    all: words.filter((word) => all.has(word)).length / words.length,
    hasOwn: words.some((word) => own.has(word)),
  }));
  const known = shares.map(({ all, hasOwn }) => (hasOwn && all >= KNOWN_SHARE ? all : 0));
  const most = Math.max(...known);
  if (most > 0) return known.indexOf(most);
  const [english = 0, ...others] = shares.map(({ all }) => all);
  return english >= CERTAIN_SHARE && others.every((share) => share < english) ? ENGLISH : UNKNOWN;
}

function withoutJson(text: string): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of findJson(text)) {
    parts.push(text.slice(at, start));
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join(' ');
}
