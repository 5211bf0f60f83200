/**
 * Runs a bundled server (src/cli/server.ts) in a process that can be killed. Its options are the first argument, as
 * JSON.
 *
 * As leader of its process group, one signal kills it and workerd at the same time. It ends with its parent, whose end
 * closes its standard input.
 */
import { type ServerOptions, startServer } from '../../src/cli/server.ts';

const server = await startServer(JSON.parse(process.argv[2] ?? '') as ServerOptions);
const stop = () => void server.stop().then(() => process.exit(0));
process.on('SIGTERM', stop);
process.stdin.on('end', stop).resume();
// An interrupt is for the parent, which decides about its processes.
process.on('SIGINT', () => undefined);
console.log('ready');
