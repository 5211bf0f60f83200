/**
 * The operator's command line inside the process of a test: it gets a shell's input, and returns its exit code and
 * output; no process starts. Tests that start a real command cover the parts left out here (npm, node.mjs and
 * operator.ts): cli.test.ts and documents.test.ts.
 */
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runOperator } from '../../src/cli/operator-run.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';

export interface Run {
  code: number;
  out: string;
  err: string;
}

export interface Given {
  env: NodeJS.ProcessEnv;
  /** Its standard input, and whether that is a terminal. */
  input?: string;
  isTerminal?: boolean;
  cwd?: string;
}

export async function operatorCli(
  args: string[],
  { env, input = '', isTerminal = false, cwd = PROJECT_DIR }: Given,
): Promise<Run> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const printed = Promise.all([text(stdout), text(stderr)]);
  const stdin = Object.assign(Readable.from([input]), { isTTY: isTerminal });
  const code = await runOperator(args, { env, cwd: () => cwd, stdin, stdout, stderr });
  stdout.end();
  stderr.end();
  const [out, err] = await printed;
  return { code, out, err };
}
