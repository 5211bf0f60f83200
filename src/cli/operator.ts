/**
 * `npm run operator -- <noun> <verb>`: the operator API from the command line. What a command does, and its exit code, is
 * in operator-run.ts.
 */
import { runOperator } from './operator-run.ts';

process.exitCode = await runOperator(process.argv.slice(2), process);
