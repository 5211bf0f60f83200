/**
 * Waits for a promise for a limited time. The work itself continues; a late result is ignored.
 */

/** The promise did not settle in time. */
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
