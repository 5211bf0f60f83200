/**
 * `npm run example -- NAME`: runs an example of the client library; without a name, or with `--help`, lists them.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isCallmeterError } from '../errors.ts';
import { targetUrl } from './target.ts';

/** Files of this folder that are not examples. */
const OTHERS = new Set(['run', 'target']);

const HELP = `npm run example -- NAME

Runs an example of the client library against CALLMETER_URL with CALLMETER_KEY, else against the server of
\`npm start\` on this machine, at port PORT (8787). Examples that run a model take the variables of the vendor's SDK: its
key (OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY), and its address for another one than the vendor's own
(OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL). Against \`npm start\` they need none: its vendor for
trying out, at VENDOR_PORT or the next port, answers, and makes its answers up.
`;

/** The variables of each vendor's SDK: its keys, its address, and the path that it expects there. */
const SDK_VARIABLES = [
  { keys: ['OPENAI_API_KEY'], address: 'OPENAI_BASE_URL', path: '/v1' },
  { keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'], address: 'ANTHROPIC_BASE_URL', path: '' },
  { keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'], address: 'GOOGLE_GEMINI_BASE_URL', path: '' },
] as const;

async function main(name: string | undefined): Promise<void> {
  const files = await readdir(import.meta.dirname);
  const names = files
    .flatMap((file) => (file.endsWith('.ts') && !OTHERS.has(file.slice(0, -3)) ? [file.slice(0, -3)] : []))
    .toSorted();
  if (name === undefined || name === '--help' || name === '-h') {
    console.log(HELP);
    for (const each of names) console.log(`  ${each.padEnd(12)}${await readDescription(each)}`);
    return;
  }
  if (!names.includes(name)) {
    console.error(`There is no example ${name}; there are ${names.join(', ')}.`);
    process.exitCode = 2;
    return;
  }
  if (process.env.CALLMETER_URL === undefined) useVendorForTryingOut();
  await import(pathToFileURL(exampleFile(name)).href);
}

/** The vendor of `npm start`, in place of those for which neither a key nor an address is set. */
function useVendorForTryingOut(): void {
  const port = process.env.VENDOR_PORT ?? Number(process.env.PORT ?? 8787) + 1;
  for (const { keys, address, path } of SDK_VARIABLES) {
    if ([...keys, address].some((name) => process.env[name])) continue;
    process.env[keys[0]] = 'any';
    process.env[address] = `http://127.0.0.1:${port}${path}`;
  }
}

/** An example's description: the first line of its header comment. */
async function readDescription(name: string): Promise<string> {
  const text = await readFile(exampleFile(name), 'utf8');
  return /^\/\*\*\n \* (.*)/.exec(text)?.[1] ?? '';
}

function exampleFile(name: string): string {
  return join(import.meta.dirname, `${name}.ts`);
}

main(process.argv[2]).catch((error: Error) => {
  console.error(`The example stopped: ${error.message}`);
  if (isCallmeterError(error) && error.code === 'SERVICE_NETWORK_ERROR')
    console.error(
      `Nothing answers at ${targetUrl()}. Start a server with \`npm start\`, or set PORT or CALLMETER_URL to one that runs.`,
    );
  process.exitCode = 1;
});
