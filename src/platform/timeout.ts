/**
 * A bound on how long a promise is waited for. The work itself goes on; its late result is ignored.
 */

/** What was waited for did not answer in time. */
export class NoAnswerInTime extends Error {
  override readonly name = 'NoAnswerInTime';
}

export async function withTimeout<Result>(work: Promise<Result>, timeoutMs: number, what: string): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswerInTime(`${what} did not answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
