/**
 * An `npm` for the shells of a test. It runs `npm run -s operator -- ...` in the process of the test, because a start
 * of npm and Node costs a hundred times as much as a command, and passes everything else to the real npm. Arguments,
 * environment, folder and standard input pass exactly, and so do both outputs and the exit code: documents.test.ts
 * compares them with the real ones.
 */
import { chmod, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { operatorCli, type Run } from './operator-cli.ts';

export interface NpmShim {
  /** How many commands it ran itself. */
  ran: number;
  stop(): void;
}

/** Writes `npm` into a folder for PATH. It finds the real one, and `curl`, by REAL_PATH. */
export async function startNpmShim(bin: string): Promise<NpmShim> {
  const socket = join(bin, 'npm.socket');
  const server = createServer(async (request, response) => {
    shim.ran += 1;
    try {
      response.end(replayOf(await runAsked(request)));
    } catch (error) {
      response.writeHead(500).end((error as Error).stack);
    }
  });
  const shim: NpmShim = { ran: 0, stop: () => void server.close() };
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  await writeFile(join(bin, 'npm'), shimScript(socket));
  await chmod(join(bin, 'npm'), 0o755);
  return shim;
}

/** A command reads its standard input only if an argument is `-`. npm would search for package.json further up. */
const shimScript = (socket: string) => `#!/bin/sh
if [ "$1 $2 $3 $4" != 'run -s operator --' ] || [ ! -f package.json ]; then PATH="$REAL_PATH" exec npm "$@"; fi
shift 4
input=/dev/null
for argument do
  if [ "$argument" = - ]; then input=-; fi
  set -- "$@" --form-string "argument=$argument"
  shift
done
set -- "$@" --form-string "cwd=$PWD" --form-string "env=$(env -0 | base64)" --form "input=@$input"
answer=$(PATH="$REAL_PATH" curl -sS --fail-with-body --unix-socket '${socket}' "$@" http://npm/) || {
  printf '%s\\n' "$answer" >&2
  exit 99
}
eval "$answer"
`;

async function runAsked(request: IncomingMessage): Promise<Run> {
  const headers = { 'Content-Type': request.headers['content-type'] ?? '' };
  const form = await new Response(await buffer(request), { headers }).formData();
  const variables: string = Buffer.from(String(form.get('env')), 'base64').toString();
  const env = Object.fromEntries(
    [...variables.matchAll(/([^=\0]+)=([^\0]*)\0/g)].map(([, name, value]) => [name, value]),
  );
  const input = await (form.get('input') as File).text();
  return operatorCli(form.getAll('argument').map(String), { env, input, cwd: String(form.get('cwd')) });
}

/** Makes a shell end like the command. */
function replayOf({ code, out, err }: Run): string {
  const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return `printf %s ${quoted(out)}\nprintf %s ${quoted(err)} >&2\nexit ${code}\n`;
}
