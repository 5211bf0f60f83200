/**
 * What the words of a prompt allow to be done with it.
 *
 * Whoever asks for characters, lines, a format or an exact copy, or asks to change a document, gets the prompt as it is:
 * its notation may be the question. The words are known in the languages below. A prompt in another language, or without
 * words around its JSON, allows nothing, because nobody knows what it asks for.
 */
import { findJson } from './json-text.ts';

export interface Allowed {
  /** JSON may be written otherwise, with the same value. */
  json: boolean;
  /** White space and phrases of instructions may become shorter: English, for the model, and not about texts. */
  prose: boolean;
}

const NOTHING: Allowed = { json: false, prose: false };

/** The most frequent words of the languages whose requests are understood. */
const FREQUENT_WORDS: Readonly<Record<string, string>> = {
  english:
    'the a an and or of to in is are was were be it that which who what how when with from for on at by as has have do does not no you your i me my we our they their all only each every there',
  german:
    'der die das den dem des ein eine einen und oder ist sind war nicht kein mit von für auf zu zum zur im in welche welcher welches wie was wer hat haben du ich wir alle nur nach bei',
  french:
    'le la les un une des du de et ou est sont dans pour par sur avec quel quelle quels quelles qui que quoi combien ne pas tous toutes au aux ce cette il elle nous vous en à',
  spanish:
    'el la los las un una unos de del y o es son en para por con que qué cuál cuáles cuánto quién no todos todas al se su lo más hay tiene',
  italian:
    'il lo la i gli le un una di del della dei delle e o è sono in per con che quale quali quanto chi non tutti tutte al alla da dal si più ha',
  portuguese:
    'o a os as um uma de do da dos das e ou é são em no na para por com que qual quais quanto quem não todos todas ao à se mais tem há',
};
const LANGUAGES = Object.values(FREQUENT_WORDS).map((words) => new Set(words.split(' ')));
/** The share of words that must be frequent ones of one language. Texts in that language have about twice as many. */
const KNOWN_SHARE = 0.2;

/** Words that ask for the notation, a copy or a change. `*` stands for any ending. */
const NOTATION = [
  // English
  'exact* verbatim literal* unchanged unmodified unalter* untouch* identical* byte bit char character letter whitespace blank space spaced spacing',
  'tab indent* newline line column offset index length size format* reformat* prett* beautif* minif* compact* layout style notation syntax valid*',
  'invalid* lint* pars* schema template example sample diff* checksum hash* sha md5 crc sign signed signature encod* decod* base64 escap* serializ*',
  'stringif* copy copie* copying clon* duplicat* repeat* reproduc* echo* mirror* print* quot* raw preserv* edit* fix fixe* fixing repair* correct*',
  'patch* updat* modif* replac* insert* append* delet* renam* convert* transform* translat* rewrit* paste* token* unicode utf* backslash* bracket',
  'brace comma colon punctuation commit yaml xml csv markdown html render* typo word file folder director* code program* source repositor* script',
  'same again back recit* dump* tidy* tidie* clean* readab* align* nice* long big wide mark* highlight* underlin* bold annotat* redact* mask*',
  'anonymi* obfuscat* encrypt* decrypt* improve* polish*',
  // German
  'genau* wörtlich* wortwörtlich* unverändert* gleich* zeichen buchstabe* leer* zeile* einzug einrück* einger* umbruch umbrüch* spalte* kopie*',
  'wiederhol* zitier* zitat zurück* ausgeb* ausgabe gib gebe ergänz* änder* korrig* reparier* füg* ersetz* entfern* lösch* umbenenn* wandl*',
  'umwandl* übersetz* beispiel* vorlage gültig* original* bewahr* behalt* beibehalt* lang* länge* breit* groß klammer* datei* quelltext*',
  // French
  'littéral* mot tel telle inchang* identique* caractère* lettre* espace* ligne* colonne* recopi* copi* répét* reprodui* renvo* retourn* affich*',
  'rend* corrig* répar* ajout* remplac* supprim* renomm* tradui* exemple* modèle* schéma* conserv* gard* longueur octet imprim*',
  // Spanish and Portuguese
  'textual* tal sin igual* idéntic* carácter* caracter* caráter* letra espaci* espaç* línea* linea* linha* columna* coluna* sangr* recuo repit*',
  'repet* devuelv* devolv* retorn* muestr* mostr* exib* imprim* cambi* alter* mud* corrij* correg* arregl* consert* agreg* adicion* acresc* añad*',
  'reempla* sustitu* substitu* elimin* borr* apag* remov* renombr* renome* conviert* traduc* traduz* ejemplo* exemplo* plantilla modelo esquema',
  'válid* manten* mant longitud comprimento exat* inalter* sem',
  // Italian
  'esatt* letteral* testual* tale così invariat* uguale caratter* lettera lettere spazi* riga righe colonn* rientr* ripet* riprod* restitu* ritorn*',
  'stamp* corregg* aggiust* aggiung* sostitu* rimuov* cancell* rinomin* esempi* lunghezza',
].join(' ');
/** A request for the document itself. */
const HAND_OVER =
  /(?<![\p{L}\p{M}])(?:return|output|show|display|write|send|give|hand|respond|reply|answer|keep|leave|store|save|post|put|make|create|generate|produce|add|change|set|sort|filter|drop|merge|split|swap|move|wrap|use)(?![\p{L}\p{M}])[^.!?\n]{0,60}(?<![\p{L}\p{M}])(?:it|its|this|that|these|those|same|json|objects?|arrays?|payload|body|documents?|files?|config\w*|below|following|above|input|back|data)(?![\p{L}\p{M}])/iu;

/** Words that speak of a text, work on one, or point to one: what follows may be that text. */
const TEXTS = [
  'this that these those here following follow follows below above next previous preceding attached enclosed mine said say says saying wrote write',
  'writes writing written text passage paragraph sentence phras* rephras* paraphras* word worded wording spell* proofread* grammar* summar* shorten*',
  'title heading message mail email letter note post tweet comment review article essay poem* poet* story stories haiku lyric song verse speech dialog*',
  'conversation chat transcript log caption slogan headline subtitle script draft* reply replie* respon* received got sent read aloud polite* formal*',
  'informal* tone sentiment classif* categor* label* grade grading score scoring detect* toxic* spam german french spanish italian portuguese english',
  'dutch polish russian chinese japanese korean arabic hindi turkish latin greek count* how vowel consonant syllable rhyme* pronounc* synonym acronym',
  'abbreviat* plagiar* sarcas* iron* cite* citation mention* speak spoke spoken voice dictat*',
].join(' ');

/** One of the words, also in the plural. */
const oneOf = (words: string) =>
  new RegExp(
    `(?<![\\p{L}\\p{M}])(?:${words
      .split(' ')
      .map((word) => (word.endsWith('*') ? word.slice(0, -1) : `${word}s?(?![\\p{L}\\p{M}])`))
      .join('|')})`,
    'iu',
  );
const ASKS_FOR_NOTATION = oneOf(NOTATION);
const SPEAKS_OF_TEXTS = oneOf(TEXTS);
const WORDS = /[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*/gu;

/** Who addresses a model at the beginning gives it instructions; other sentences may be what a prompt is about. */
const ADDRESSES = /^\s*You(?:r)? [a-z]/;

/** What all texts of a prompt allow together: an instruction in one may be about another. */
export function allowedBy(texts: readonly string[]): Allowed {
  const words = texts.map(withoutJson).join('\n');
  if (ASKS_FOR_NOTATION.test(words) || HAND_OVER.test(words)) return NOTHING;
  const [english = 0, ...others] = sharesOf(words);
  const isEnglish = english >= KNOWN_SHARE;
  const isQuestion = words.includes('?');
  return {
    // Other verbs than English ones are not known, but a question asks for none.
    json: isEnglish || (isQuestion && others.some((share) => share >= KNOWN_SHARE)),
    // A question may be about the sentences beside it.
    prose: isEnglish && !isQuestion && ADDRESSES.test(texts[0] ?? '') && !SPEAKS_OF_TEXTS.test(words),
  };
}

/** For each language, the share of the words that are frequent in it. */
function sharesOf(text: string): number[] {
  const counts = LANGUAGES.map(() => 0);
  let words = 0;
  for (const [word] of text.toLowerCase().matchAll(WORDS)) {
    words += 1;
    for (const [index, language] of LANGUAGES.entries())
      if (language.has(word)) counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts.map((count) => (words === 0 ? 0 : count / words));
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
