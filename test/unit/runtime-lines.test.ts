/**
 * A terminal of `npm start` has no raw line of the runtime, and nothing that is unknown is hidden. The lines are as
 * workerd and Miniflare wrote them.
 */
import { stripVTControlCharacters } from 'node:util';
import { LogLevel } from 'miniflare';
import { afterEach, expect, test, vi } from 'vitest';
import { printRuntimeLine, RuntimeLog } from '../../src/cli/runtime-lines.ts';

afterEach(() => void vi.restoreAllMocks());

function printed(print: () => void): string[] {
  const error = vi.spyOn(console, 'error').mockReturnValue();
  print();
  return error.mock.calls.map(([line]) => stripVTControlCharacters(String(line)));
}

test.each([
  'NOSENTRY SQLite alarm overdue, running despite AlarmManager mismatch; scheduledTime = 1795818860.598s; localAlarmTime = 1795818860.603s; currentTime = 1795818860.639893955s; actorId = 4b0157afc1ef460cc7b7fdb7a35105fc0275440e13c432b6eb1bcd202e4a3156',
  'NOSENTRY SQLite alarm handler canceled with requestScheduledAlarm.; scheduledTime = 1795818695.736s; localAlarmState.orDefault(kj::UNIX_EPOCH) = 1795822253.188s',
  'NOSENTRY SQLite alarm handler canceled with requestScheduledAlarm.; scheduledTime = 1795818860.625s; localAlarmState.orDefault(kj::UNIX_EPOCH) = 0ns; actorId = 0bf0f1d6fcdfa8b40dd8197a000d2f80f155a6eb38a0c695113a8525bd80e565',
])('a line that needs nobody is left out: %.60s', (line) => {
  expect(printed(() => printRuntimeLine({ level: 'warn', message: line }))).toEqual([]);
});

test('a runtime that ended is told in words, once and on standard error', () => {
  const log = new RuntimeLog();
  const lines = printed(() => {
    log.warn(
      'The Workers runtime crashed unexpectedly and is being restarted (crash #1). Any additional runtime output above may indicate the cause.',
    );
    log.logWithLevel(LogLevel.INFO, 'Ready');
  });
  expect(lines).toEqual([
    'Callmeter: the runtime ended unexpectedly, and starts again. Calls that it was answering have failed.',
  ]);
});

test('a log line of the Worker stays as it is', () => {
  const message = '{"event":"vendor_unreachable","error":"TypeError: fetch failed"}';
  expect(printed(() => printRuntimeLine({ level: 'error', message }))).toEqual([message]);
});

test.each([
  'NOSENTRY output lock broke during alarm execution; actorId = 4b01',
  'Uncaught Error: NOSENTRY SQLite alarm overdue, running despite AlarmManager mismatch; no',
  '*** Fatal uncaught kj::Exception: out of memory',
  'Error: a bug\n    at index.js:1:1',
])('an unknown line is printed whole: %j', (message) => {
  expect(printed(() => printRuntimeLine({ level: 'error', message }))).toEqual([
    `Callmeter: the runtime says: ${message}`,
  ]);
});

test('an error of Miniflare is printed with its cause', () => {
  const error = new Error('the runtime failed', { cause: new Error('no memory') });
  expect(printed(() => new RuntimeLog().error(error)).join('\n')).toMatch(/the runtime failed[\s\S]*no memory/);
});
