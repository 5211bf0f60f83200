/**
 * A bundled server (src/cli/server.ts) as a process that can be killed, with the options of its first argument, in
 * JSON.
 *
 * Where it leads a process group of its own, one signal ends it and workerd at the same moment.
 */
import { type ServerOptions, startServer } from '../../src/cli/server.ts';

const server = await startServer(JSON.parse(process.argv[2] ?? '') as ServerOptions);
process.on('SIGTERM', () => void server.stop().then(() => process.exit(0)));
// An interrupt is for whoever started this, who decides what it ends.
process.on('SIGINT', () => undefined);
console.log('ready');
