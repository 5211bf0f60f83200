/**
 * Prompts that are made to change their sense when they are shortened. Deterministic: the parts below, and combinations
 * of a request with its subject.
 */
import { AMBIGUOUS, INSTRUCTIONS } from './ambiguous.ts';
import { PAYLOADS } from './payloads.ts';
import type { Message, Part, Prompt } from './prompt.ts';

/** A request around a payload that it marks, or does not mark at all. */
const AROUND: readonly (readonly [kind: string, before: string, after: string])[] = [
  ['after a colon', 'Translate to German: ', ''],
  ['below a colon', 'Could you please translate the following text into French?\nText:\n', ''],
  ['below, unmarked', 'Translate the text below into Italian.\n\n', ''],
  ['beside, unmarked', 'Translate into Spanish. ', ''],
  ['before the request', '', '\n\nHow many characters has the text above?'],
  ['before the request, on its line', '', ' Is this polite?'],
  ['in straight quotes', 'How many words are in "', '"?'],
  ['in single quotes', "What is wrong with '", "' in a letter?"],
  ['in typographic quotes', 'Rate the tone of “', '” from 1 to 5.'],
  ['in guillemets', 'Traduis « ', ' » en anglais.'],
  ['in German quotes', 'Was bedeutet „', '“ auf Deutsch?'],
  ['in corner brackets', '「', '」を日本語に翻訳してください。'],
  ['in a tag', 'Summarize the document.\n<document>\n', '\n</document>\nAnswer in one sentence.'],
  ['in a fence', 'Review it.\n```\n', '\n```'],
  ['in three quotes', 'Count the words.\n"""\n', '\n"""'],
  ['in square brackets', 'Correct the grammar. [', ']'],
  ['after a dash', 'Spell-check - ', ''],
  ['after a long dash', 'Rewrite this more formally — ', ''],
  ['after an arrow', 'English -> Dutch\n', ''],
  ['after an equals sign', 'text = ', ''],
  ['as a block quotation', 'What did she mean?\n> ', ''],
  ['after a heading', '# Task\nProofread.\n\n# Text\n', ''],
  ['after a ruler', 'Return the text below exactly.\n=====\n', '\n====='],
  ['in a list', 'Which of these is rude?\n- ', '\n- Good day.'],
  ['after a reference', 'I got this from my boss. ', ' What should I answer?'],
  ['between instructions', 'You answer mails. In order to help, be brief. The mail reads as follows. ', ' Thank you!'],
  ['to a translator', 'You are a translator for tourists. ', ''],
  ['to a lawyer', 'You are a lawyer. Explain to a child. ', ''],
  ['to an editor', 'You are an editor. Make the sentences shorter. ', ''],
  ['in German', 'Übersetze den folgenden Text ins Englische. ', ''],
  ['in German, to be kept', 'Gib den Text genau so zurück. ', ' Danke im Voraus!'],
  ['in French', 'Combien de mots y a-t-il dans ce texte ? ', ''],
  ['in Spanish', 'Corrige este texto. ', ' Gracias.'],
  ['in Portuguese', 'Traduza para o português. ', ''],
  ['in Italian', 'Ripeti esattamente. ', ''],
  ['in Dutch', 'Vertaal naar het Nederlands. ', ''],
  ['in Polish', 'Przetłumacz na polski. ', ''],
  ['in Turkish', 'Türkçeye çevir. ', ''],
  ['in Swedish', 'Hur artig är texten? ', ''],
  ['in Finnish', 'Käännä suomeksi. ', ''],
  ['in Indonesian', 'Terjemahkan ke bahasa Indonesia. ', ''],
  ['in Vietnamese', 'Dịch sang tiếng Việt. ', ''],
  ['in Swahili', 'Tafsiri kwa Kiswahili. ', ''],
  ['in Russian', 'Переведи на русский. ', ''],
  ['in Ukrainian', 'Скільки тут слів? ', ''],
  ['in Greek', 'Μετάφρασε στα ελληνικά. ', ''],
  ['in Arabic', 'ترجم إلى العربية. ', ''],
  ['in Hebrew', 'תרגם לעברית. ', ''],
  ['in Hindi', 'हिंदी में अनुवाद करें। ', ''],
  ['in Chinese', '把下面这段话翻译成中文。', ''],
  ['in Japanese', '次の文を日本語に訳してください。', ''],
  ['in Korean', '다음을 한국어로 번역하세요. ', ''],
  ['in Thai', 'แปลเป็นภาษาไทย ', ''],
];
/** Each request meets this many payloads, another few each. */
const PAYLOADS_EACH = 7;

function aroundPayloads(): Prompt[] {
  return AROUND.flatMap(([kind, before, after], index) =>
    Array.from({ length: PAYLOADS_EACH }, (_, turn): Prompt => {
      const { name, text } = PAYLOADS[(index * PAYLOADS_EACH + turn) % PAYLOADS.length] ?? { name: '', text: '' };
      return { kind: `${name}, ${kind}`, of: [{ say: before }, { keep: text }, { say: after }] };
    }),
  );
}

const ROWS = JSON.stringify(
  Array.from({ length: 6 }, (_, id) => ({ id, name: `please   wait ${id}`, note: 'In order to win, act!!!!' })),
  null,
  2,
);
const CONFIG = '{\n  "name": "demo",\n  "ports": [ 80, 443 ],\n  "on": true\n}';

/** JSON that somebody wants as it is written, or that is code. */
const JSON_KEPT: readonly (readonly [before: string, json: string, after: string])[] = [
  ['Return exactly this JSON:\n', CONFIG, ''],
  ['Return this JSON with the port 8080 added:\n', CONFIG, ''],
  ['How many lines has this?\n\n', CONFIG, ''],
  ['Is the indentation right?\n\n', CONFIG, ''],
  ['Add a member to the configuration and answer with the whole file.\n\n', CONFIG, ''],
  ['What is the SHA-256 of the following?\n\n', CONFIG, ''],
  ['Answer in the format of the example.\n\n', CONFIG, ''],
  ['Copy the object to your answer.\n\n', CONFIG, ''],
  ['Print the array.\n\n', ROWS, ''],
  ['Gib das folgende JSON genau so zurück:\n', CONFIG, ''],
  ['Wie viele Zeichen hat das?\n\n', CONFIG, ''],
  ['Renvoie ce JSON tel quel.\n\n', CONFIG, ''],
  ['Devuelve este JSON sin cambios.\n\n', CONFIG, ''],
  ['Restituisci questo JSON.\n\n', CONFIG, ''],
  ['Retorna este JSON.\n\n', CONFIG, ''],
  [
    'You are the assistant of a team, and you help them with what they need.\n\nMásold le szóról szóra.\n\n',
    CONFIG,
    '',
  ],
  ['You are the assistant of a team, and you help them with what they need.\nKopiuj bez zmian.\n', CONFIG, ''],
  ['What do you think of how I wrote the settings?\n\n', CONFIG, ''],
  ['I want it as it stands.\n\n', CONFIG, ''],
  ['Pass that on to the printer.\n\n', CONFIG, ''],
  ['Read the settings aloud for the team.\n\n', CONFIG, ''],
  ['Who is the author, judging from how it was typed?\n\n', CONFIG, ''],
  ['Describe the visual shape of the object.\n\n', CONFIG, ''],
  ['Swap the two and hand me the result.\n\n', CONFIG, ''],
  ['Was ist an der Darstellung seltsam, und wie ist sie?\n\n', CONFIG, ''],
  ['Est-ce que le JSON est bien présenté pour les humains ?\n\n', CONFIG, ''],
  ['¿Está bien presentado el JSON, y qué más hay?\n\n', CONFIG, ''],
  ['Zwróć dokładnie ten JSON.\n\n', CONFIG, ''],
  ['Hány sor van ebben?\n\n', CONFIG, ''],
  ['Melyik a harmadik sor?\n\n', CONFIG, ''],
  ['Kopieer de lijst die in de map is.\n\n', CONFIG, ''],
  ['Hoeveel regels zijn er in het bestand?\n\n', CONFIG, ''],
  ['Quantes línies té la llista de les comandes?\n\n', CONFIG, ''],
  ['Hvor mange linjer er der i den?\n\n', CONFIG, ''],
  ['Kuinka monta riviä siinä on?\n\n', CONFIG, ''],
  ['Câte linii are lista de mai jos?\n\n', CONFIG, ''],
  ['Có bao nhiêu dòng?\n\n', CONFIG, ''],
  ['Kaç satır var?\n\n', CONFIG, ''],
  ['Верни этот JSON без изменений.\n\n', CONFIG, ''],
  ['このJSONをそのまま返してください。\n\n', CONFIG, ''],
  ['原样返回这个 JSON。\n\n', CONFIG, ''],
  ['أعد هذا JSON كما هو.\n\n', CONFIG, ''],
  ['', CONFIG, ''],
  ['', CONFIG, '\n\nRepeat that.'],
  ['What does the program do?\n\nconst options = ', CONFIG, ';\nstart(options);'],
  ['What does the program do?\n\nstart(\n', CONFIG, '\n);'],
  ['What is the output of print(', '[1, 2, 3, 4, 5, 6, 7]', ')?'],
  ["Explain the request.\ncurl -d '", '{"a": 1, "b": [1, 2]}', "' localhost"],
  ['Which call failed?\n2026-01-01 12:00:00 INFO ', '{"call": 1, "ok": true}', '\n2026-01-01 12:00:01 INFO none'],
  ['Which row is wrong?\n| 1 | ', '{"a": 1, "b": 2}', ' | x |'],
  ['What does it say in the cell?\nid;value\n1;', '{"a": 1, "b": 2}', '\n2;none'],
  ["Explain the query.\nINSERT INTO t VALUES ('", '{"a": 1, "b": 2}', "');"],
  ['Why is it invalid?\n\n', CONFIG, ''],
  ['Make it pretty.\n\n', ROWS, ''],
  ['Tidy it up for me and my boss.\n\n', ROWS, ''],
  ['I need it back as it was.\n\n', ROWS, ''],
  ['Hand it to the next one in the line.\n\n', ROWS, ''],
  ['How big is it in bytes or so?\n\n', ROWS, ''],
  ['Wie lang ist das und wie breit ist es?\n\n', ROWS, ''],
  ['Mach das und die anderen hübsch für die Chefin.\n\n', ROWS, ''],
  ['Redact the names in it, and that is all.\n\n', ROWS, ''],
  ['Minify it.\n\n', ROWS, ''],
  ['Compare it with the file byte by byte.\n\n', CONFIG, ''],
  ['What stands in column 9 of line 3?\n\n', ROWS, ''],
];

/** JSON as data: it may lose white space, and no more. */
const JSON_DATA: readonly (readonly [before: string, json: string, after: string])[] = [
  ['You are an analyst. Here are the last orders.\n\n', ROWS, '\n\nWhich order is the largest?'],
  ['Which of the ports is for the web?\n\n', CONFIG, ''],
  ['Here are the orders: ', ROWS, '\n\nWhich one is the largest of all?'],
  ['<orders>\n', ROWS, '\n</orders>\n\nWhich of the orders are for the same person?'],
  ['Welche der Bestellungen ist die größte von allen?\n\n', ROWS, ''],
  ['Quelle est la commande la plus grande de toutes ?\n\n', ROWS, ''],
  ['¿Cuál de las órdenes es la más grande de todas?\n\n', ROWS, ''],
  ['Qual dos pedidos é o mais caro de todos?\n\n', ROWS, ''],
  ['Quale degli ordini è il più grande di tutti?\n\n', ROWS, ''],
  ['What is the sum of the numbers?\n\n', '{"a": 12345678901234567890, "b": 1.10, "a": -0}', ''],
];

const SAID = 'Could you please send it in order to help?  Thank you in advance!';
const conversation = (kind: string, ...messages: [Message['role'], ...Part[]][]): Prompt => ({
  kind,
  of: messages.map(([role, ...parts]) => ({ role, parts })),
});

/** Messages that another message speaks of. */
const CONVERSATIONS: readonly Prompt[] = [
  conversation(
    'system translates',
    ['system', { say: 'You translate every message into German.' }],
    ['user', { keep: SAID }],
  ),
  conversation(
    'system counts',
    ['system', { say: 'Count the blanks of what the user says.' }],
    ['user', { keep: 'a   b' }],
  ),
  conversation(
    'system without a hint',
    ['system', { say: 'You are Ann. You reply to mails.' }],
    ['user', { keep: SAID }],
  ),
  conversation(
    'request first, text later',
    ['user', { say: 'Translate what I say next.' }],
    ['assistant', { keep: 'Please   do.' }],
    ['user', { keep: SAID }],
  ),
  conversation('text first, request later', ['user', { keep: SAID }], ['user', { say: 'How polite is that?' }]),
  conversation(
    'request last',
    ['user', { keep: `${SAID}\n\n\n\nIn order to win, act.` }],
    ['assistant', { keep: 'Yes.' }],
    ['user', { keep: 'Repeat my first message.' }],
  ),
  conversation('system repeats JSON', ['system', { say: 'Echo the JSON of the user.' }], ['user', { keep: CONFIG }]),
  conversation('system formats', ['system', { say: 'You are a formatter for JSON.' }], ['user', { keep: ROWS }]),
  conversation(
    'tool with prose',
    ['user', { say: 'What is the weather like in the city of Ulm?' }],
    ['tool', { keep: 'In order to see   it, please  wait.\n\n\n\nFog.' }],
  ),
  conversation('tool with rows', ['user', { say: 'Which of the orders is the largest?' }], ['tool', { json: ROWS }]),
  conversation(
    'tool whose result is wanted as it is',
    ['user', { say: 'Show me the raw result.' }],
    ['tool', { keep: ROWS }],
  ),
  conversation(
    'model spoke',
    ['user', { say: 'Who are you, and what do you do?' }],
    ['assistant', { keep: 'In order to help,   I am here.' }],
  ),
  conversation(
    'second system message is context',
    ['system', { say: 'You are a helper of the team.' }],
    ['system', { keep: SAID }],
  ),
  conversation('German system', ['system', { say: 'Du übersetzt alles ins Englische.' }], ['user', { keep: SAID }]),
  conversation('empty system', ['system', { say: '' }], ['user', { keep: SAID }]),
];

const asJson = (kind: string, list: typeof JSON_DATA, part: (json: string) => Part): Prompt[] =>
  list.map(([before, json, after]) => ({ kind, of: [{ say: before }, part(json), { say: after }] }));

export const ADVERSARIAL: readonly Prompt[] = [
  ...AMBIGUOUS.map((text): Prompt => ({ kind: 'ambiguous instruction', of: [{ keep: text }] })),
  ...AMBIGUOUS.map(
    (text): Prompt => ({ kind: 'ambiguous, to an agent', of: [{ say: 'You are an agent of Acme. ' }, { keep: text }] }),
  ),
  ...INSTRUCTIONS.map((text): Prompt => ({ kind: 'instruction', of: [{ say: text }] })),
  ...aroundPayloads(),
  ...asJson('JSON to be kept', JSON_KEPT, (keep) => ({ keep })),
  ...asJson('JSON as data', JSON_DATA, (json) => ({ json })),
  ...CONVERSATIONS,
];
