/**
 * Ends workerd when the process that started it is gone, however it went.
 *
 * Reads lines of process ids on standard input; the last line counts. When the input closes, the processes are killed:
 * state is safe, because workerd commits before it acknowledges.
 */
let pids: number[] = [];

process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text: string) => {
  const line = text.trim().split('\n').at(-1) ?? '';
  pids = line.split(' ').map(Number).filter(Boolean);
});
process.stdin.on('end', () => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Already gone, as after an orderly stop.
    }
  }
});
