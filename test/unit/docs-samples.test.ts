/**
 * Promise: each operation of the API reference has a request in three languages and an example of an answer, and all of
 * them are correct: TypeScript compiles with the client library's types, Python compiles, answers hold their schemas.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runInThisContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { entries } from '../../src/http/openapi/entries.ts';
import { EXAMPLES } from '../../src/http/openapi/examples.ts';
import type { AnswerObject } from '../../src/http/openapi/types.ts';
import ANSWERS from '../../src/site/docs/answers.json' with { type: 'json' };
import { listRoutes } from '../../src/site/docs/reference.ts';
import { literal, PYTHON, TYPESCRIPT } from '../../src/site/docs/samples/literal.ts';
import { buildSamples } from '../../src/site/docs/samples/samples.ts';
import { ROOT } from '../support/documents.ts';
import { brokenRules } from '../support/json-schema.ts';

const ORIGIN = 'https://callmeter.example';
const document = openApiDocument('1.2.3', ORIGIN);
const all = listRoutes(document).map((route) => {
  const { operationId } = route.operation;
  const entry = entries().get(operationId);
  if (!entry) throw new Error(`the contract has no ${operationId}`);
  return { operationId, operation: route.operation, samples: buildSamples(document, route, entry) };
});

const sourcesIn = (language: string) =>
  all.map(({ operationId, samples }) => {
    const source = samples.find((sample) => sample.language === language)?.source ?? '';
    return { operationId, source };
  });

const WRONG_PROGRAM = `import { createClient } from 'callmeter/client';
// @ts-expect-error: a field that the operation does not have
await createClient({ apiKey: 'key', baseUrl: '' }).beginCall({ customerId: 'alice', nothing: true });
export {};
`;

let folder: string;
beforeAll(async () => {
  // In the repository, so that packages are found; in a folder that git ignores.
  await mkdir(join(ROOT, '.state'), { recursive: true });
  folder = await mkdtemp(join(ROOT, '.state/samples-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (command: string, args: string[]) =>
  promisify(execFile)(command, args, { cwd: folder }).then(
    () => '',
    ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
  );

describe('requests', () => {
  test('are there for every operation in curl, TypeScript and Python, to this server and with no key in them', () => {
    expect(all.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(EXAMPLES).sort());
    for (const { operationId, operation, samples } of all) {
      expect([operationId, samples.map(({ language }) => language)]).toEqual([
        operationId,
        ['curl', 'TypeScript', 'Python'],
      ]);
      const isOpen = operation.security.length === 0;
      for (const { language, source } of samples) {
        const place = `${operationId} in ${language}`;
        expect(source, place).toContain(ORIGIN);
        expect(/\b(?:utk|ek)-[A-Za-z0-9]{20}/.test(source), place).toBe(false);
        expect(/OPERATOR_TOKEN|DEMO_API_KEY|EMBED_KEY/.test(source), place).toBe(!isOpen);
      }
    }
  });

  test('in curl are the ones of the OpenAPI document, which a test runs', () => {
    for (const { operation, samples } of all) expect(samples[0]?.source).toBe(operation['x-codeSamples'][0]?.source);
  });

  test("in TypeScript compile as one program, with the client library's types", async () => {
    const sources = sourcesIn('TypeScript');
    expect(sources.filter(({ source }) => source.includes('createClient')).length).toBeGreaterThan(40);
    await Promise.all(
      sources.map(({ operationId, source }) => writeFile(join(folder, `${operationId}.ts`), `${source}\nexport {};\n`)),
    );
    const client = join(ROOT, 'src/client');
    const compilerOptions = {
      ...{ target: 'es2024', lib: ['es2024', 'esnext.disposable'], types: ['@cloudflare/workers-types', 'node'] },
      ...{ module: 'esnext', moduleResolution: 'bundler', strict: true, noEmit: true, skipLibCheck: true },
      ...{ allowImportingTsExtensions: true, verbatimModuleSyntax: true, exactOptionalPropertyTypes: true },
      paths: { 'callmeter/client': [join(client, 'index.ts')] },
    };
    // Errors are found: without one here, the compiler would complain.
    await writeFile(join(folder, 'wrong.ts'), WRONG_PROGRAM);
    const files = ['wrong.ts', ...sources.map(({ operationId }) => `${operationId}.ts`)];
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    // Each further thread would check most of the types again.
    expect(await run(process.execPath, [tsc, '--project', folder, '--singleThreaded'])).toBe('');
  });

  test('in Python are well-formed: every bracket and every string ends, and nothing of JSON is left', () => {
    for (const { operationId, source } of sourcesIn('Python')) {
      const code = source.replaceAll(/f?"(?:[^"\\\n]|\\.)*"/g, '""');
      expect([
        operationId,
        /\b(?:null|true|false|undefined)\b|"[^"]|[^"]"(?!")/.exec(code.replaceAll('""', ''))?.[0],
      ]).toEqual([operationId, undefined]);
      const open: string[] = [];
      for (const [bracket] of code.matchAll(/[()[\]{}]/g)) {
        if ('([{'.includes(bracket)) open.push(bracket);
        else expect([operationId, open.pop()]).toEqual([operationId, { ')': '(', ']': '[', '}': '{' }[bracket]]);
      }
      expect([operationId, open]).toEqual([operationId, []]);
    }
  });

  test('in Python compile, if there is a Python', async ({ skip }) => {
    if ((await run('python3', ['--version']).catch(() => 'none')) !== '') skip('this machine has no python3');
    const sources = sourcesIn('Python');
    await Promise.all(
      sources.map(({ operationId, source }) => writeFile(join(folder, `${operationId}.py`), `${source}\n`)),
    );
    expect(await run('python3', ['-m', 'py_compile', ...sources.map(({ operationId }) => `${operationId}.py`)])).toBe(
      '',
    );
    await writeFile(join(folder, 'broken.py'), 'answer = {"a": null\n');
    expect(await run('python3', ['-m', 'py_compile', 'broken.py'])).toContain('SyntaxError');
  });
});

test('a value is written as each language has it', () => {
  const value = { a: null, 'b-c': [true, "it's", 'a "b"\n\\'], d: 1.5 };
  expect(literal(value, TYPESCRIPT)).toBe(`{ a: null, 'b-c': [true, 'it\\'s', 'a "b"\\n\\\\'], d: 1.5 }`);
  expect(literal(value, PYTHON)).toBe(`{"a": None, "b-c": [True, "it's", "a \\"b\\"\\n\\\\"], "d": 1.5}`);
  expect(runInThisContext(`(${literal(value, TYPESCRIPT)})`)).toEqual(value);
  const long = Array.from({ length: 40 }, (_, index) => `item ${index}`);
  expect(runInThisContext(literal(long, TYPESCRIPT))).toEqual(long);
  expect(
    Math.max(
      ...literal({ long }, PYTHON)
        .split('\n')
        .map((line) => line.length),
    ),
  ).toBeLessThan(100);
});

describe('answers', () => {
  const pointed = (reference: string): unknown =>
    reference
      .slice('#/'.length)
      .split('/')
      .reduce<unknown>((node, step) => (node as Record<string, unknown>)[step], document);

  test('are there for every operation, and for no other', () => {
    expect(Object.keys(ANSWERS).sort()).toEqual(Object.keys(EXAMPLES).sort());
  });

  test.each(all.map(({ operationId, operation }) => [operationId, operation] as const))(
    'of %s holds its schema',
    (operationId, { responses }) => {
      const answer = (ANSWERS as Record<string, unknown>)[operationId];
      const { content = {} } = responses['200'] as AnswerObject;
      const [[type, { schema }] = ['', { schema: {} }]] = Object.entries(content);
      if (typeof answer === 'string' && !type.endsWith('ndjson')) {
        // Bytes, and a file that comes back as it was sent.
        expect(['createSpeech', 'readFileContent', 'streamGenerateContent']).toContain(operationId);
        return;
      }
      const values = typeof answer === 'string' ? answer.split('\n').map((line) => JSON.parse(line)) : [answer];
      for (const value of values) expect(brokenRules(schema, value, pointed)).toEqual([]);
    },
  );

  test('have no secret, and no address of the machine that recorded them', () => {
    const text = JSON.stringify(ANSWERS);
    expect(text.match(/\b(?:utk|ek)-(?!A{43})[\w-]{43}|whsec_(?!A{43}=)[\w+/=]{20,}|eyJ[\w-]{30,}/g)).toBeNull();
    expect(text.match(/127\.0\.0\.1:(?!8788)\d+/g)).toBeNull();
  });
});
