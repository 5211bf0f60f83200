/**
 * The text of an export, read only as fast as the client reads it.
 */
import { log } from '../platform/log.ts';

/** The first part is read before the answer begins, so that the status can still report an unavailable database. */
export async function exportStream(
  text: AsyncGenerator<string, void>,
  organizationId: string,
): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  let next: IteratorResult<string, void> | null = await text.next();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } =
          next ??
          (await text.next().catch((error: unknown) => {
            log('error', 'export_broke_off', { organizationId }, error);
            // The runtime logs the error of a stream unchanged.
            throw new Error('the export broke off');
          }));
        next = null;
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        await text.return();
      },
    },
    { highWaterMark: 0 },
  );
}
