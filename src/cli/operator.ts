/**
 * `npm run operator -- <noun> <verb>`: the operator API from the command line. operator-run.ts runs a command and
 * decides its exit code.
 */
import { runOperator } from './operator-run.ts';

process.exitCode = await runOperator(process.argv.slice(2), process);
