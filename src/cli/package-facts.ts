/**
 * The facts about models in packages of the npm registry: the ids and deprecation tables of the three SDKs, and a price
 * list with a date. Only the text of their files is read; none of their code runs.
 */
import { readPiAi, type Said } from '../catalog/lists.ts';
import { utcDay } from '../platform/time.ts';

/** Reads a file of the package; `null` if the version does not have it. */
export type ReadPackageFile = (path: string) => Promise<string | null>;

export type ReadFacts = (read: ReadPackageFile) => Promise<Said[]>;

/** The watched packages, each with its facts. A package that no longer states them in this form is an error. */
export const WATCHED_PACKAGES = new Map<string, ReadFacts>([
  ['openai', readOpenAi],
  ['@anthropic-ai/sdk', readAnthropic],
  ['@google/genai', readGoogle],
  ['@earendil-works/pi-ai', readPiAiFiles],
]);

/** `export type ChatModel = 'gpt-6-sol' | ...;` and comments: `"gpt-5.1", "gpt-5.1-2025-11-13": Announced shutdown date: 2027-04-01.` */
async function readOpenAi(read: ReadPackageFile): Promise<Said[]> {
  const text = await required(read, 'resources/shared.d.ts');
  const prose = text.replaceAll(/\s*\n\s*\*\s*/g, ' ');
  const ends = [...prose.matchAll(/((?:"[^"\s]+",?\s+)*"[^"\s]+"):\s+Announced shutdown date:\s+(\d{4}-\d{2}-\d{2})/g)];
  return [
    {
      provider: 'openai',
      ids: parseUnion(text, 'ChatModel'),
      ends: Object.fromEntries(
        ends.flatMap(([, names = '', day = '']) => [...names.matchAll(/"([^"]+)"/g)].map(([, id = '']) => [id, day])),
      ),
    },
  ];
}

/** `type Model = 'claude-opus-5-5' | ...;` and `'claude-opus-4-5': 'January 22nd, 2027',` */
async function readAnthropic(read: ReadPackageFile): Promise<Said[]> {
  const models = await required(read, 'resources/messages/messages.d.ts');
  const deprecated = await required(read, 'internal/data/deprecated-models.js');
  const ends = [...deprecated.matchAll(/'([^']+)': '([A-Z][a-z]+) (\d{1,2})(?:st|nd|rd|th), (\d{4})'/g)];
  if (ends.length === 0) throw new Error('internal/data/deprecated-models.js names no end');
  return [
    {
      provider: 'anthropic',
      ids: parseUnion(models, 'Model'),
      ends: Object.fromEntries(
        ends.map(([, id = '', month, day, year]) => [id, utcDay(Date.parse(`${month} ${day}, ${year} UTC`))]),
      ),
    },
  ];
}

/** `declare type Model_2 = "gemini-4-argon" | ...;` */
async function readGoogle(read: ReadPackageFile): Promise<Said[]> {
  return [{ provider: 'google', ids: parseUnion(await required(read, 'dist/genai.d.ts'), 'Model_2') }];
}

async function readPiAiFiles(read: ReadPackageFile): Promise<Said[]> {
  const providers = ['openai', 'anthropic', 'google'] as const;
  return Promise.all(
    providers.map(async (provider) => {
      const file = await required(read, `dist/providers/data/${provider}.json`);
      return { provider, prices: readPiAi(JSON.parse(file)) };
    }),
  );
}

async function required(read: ReadPackageFile, path: string): Promise<string> {
  const text = await read(path);
  if (text === null) throw new Error(`it has no ${path}`);
  return text;
}

/** The names of a union of texts. */
function parseUnion(text: string, type: string): string[] {
  const [, union = ''] = new RegExp(`\\btype ${type} = ([^;]*);`).exec(text) ?? [];
  const names = [...union.matchAll(/['"]([^'"]+)['"]/g)].map(([, name = '']) => name);
  if (names.length === 0) throw new Error(`it has no names in type ${type}`);
  return names;
}
