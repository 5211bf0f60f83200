/**
 * Texts that measure the estimate of tokens. None was used to fit it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SNIPPETS } from './snippets.ts';

export interface Corpus {
  name: string;
  kind: 'English' | 'code' | 'JSON' | 'language';
  texts: string[];
}

/** The largest error of the estimate over a corpus, as a share of its tokens. */
export const ERROR_MAX: Record<Corpus['kind'], number> = { English: 0.1, code: 0.1, JSON: 0.1, language: 0.15 };

const ROOT = join(import.meta.dirname, '..', '..');
const LENGTH_MAX = 20_000;
const FILES_MAX = 12;

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const files = (folder: string, ending: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(ending))
    .slice(0, FILES_MAX)
    .map((name) => read(`${folder}/${name}`).slice(0, LENGTH_MAX));
const fixture = (name: string): { language: string; text: string }[] =>
  JSON.parse(read(`test/fixtures/${name}.json`)).texts;
const readJson = (path: string): unknown => JSON.parse(read(path));
const spellings = (value: unknown) =>
  [undefined, 2].map((indent) => JSON.stringify(value, null, indent).slice(0, LENGTH_MAX));

export function corpora(): Corpus[] {
  const english: Corpus[] = [
    { name: 'English: the guides', kind: 'English', texts: files('docs', '.md') },
    { name: 'English: a license', kind: 'English', texts: [read('LICENSE')] },
  ];
  const code: Corpus[] = [
    { name: 'TypeScript', kind: 'code', texts: files('src/history', '.ts') },
    { name: 'TypeScript: tests', kind: 'code', texts: files('test/worker', '.ts') },
    { name: 'JavaScript', kind: 'code', texts: files('node_modules/express/lib', '.js') },
    ...Object.entries(SNIPPETS).map(([name, text]): Corpus => ({ name, kind: 'code', texts: [text] })),
  ];
  const json: Corpus[] = [
    { name: 'JSON: package.json', kind: 'JSON', texts: spellings(readJson('package.json')) },
    { name: 'JSON: the catalog', kind: 'JSON', texts: spellings(readJson('src/catalog/models.json')) },
    { name: 'JSON: prices', kind: 'JSON', texts: spellings(readJson('test/fixtures/litellm-sample.json')) },
    { name: 'JSON: models', kind: 'JSON', texts: spellings(readJson('test/fixtures/models-dev-sample.json')) },
  ];
  const rights = fixture('languages').map(({ language, text }) => inLanguage(language, 'rights', text));
  const covenant = fixture('covenant').map(({ language, text }) => inLanguage(language, 'covenant', text));
  return [...english, ...code, ...json, ...rights, ...covenant];
}

const inLanguage = (language: string, of: string, text: string): Corpus => ({
  name: `${language}: ${of}`,
  kind: language === 'English' ? 'English' : 'language',
  texts: [text],
});
