/**
 * Use case: a file passes to the vendor. On their way, the lines of a batch's input are checked, and their models get
 * the vendor's names (`../form-upload.ts`).
 *
 * Besides the form's last part, at most one line of `BATCH_LINE_BYTES_MAX` is held, and a name of at most 64 characters
 * for each line.
 */

import { currentCatalog } from '../../config/catalog.ts';
import type { Caller } from '../../metering/caller.ts';
import type { UploadedForm } from '../../platform/multipart.ts';
import type { GatewayAnswer } from '../answer.ts';
import { passForm } from '../form-upload.ts';
import { recordMade } from '../kept-objects.ts';
import { FileCheck } from './form-check.ts';
import { LineCheck } from './line-check.ts';
import { LineModels } from './line-models.ts';

/** `headers` are the caller's headers that pass. */
export async function uploadFile(
  caller: Caller,
  form: UploadedForm,
  headers: Readonly<Record<string, string>>,
  requestId: string,
): Promise<GatewayAnswer> {
  const startCheck = async (boundary: string) => {
    const { catalog } = await currentCatalog(caller.env, caller.defer);
    return new FileCheck(boundary, new LineCheck(new LineModels(caller, catalog, Date.now())));
  };
  return recordMade(caller, await passForm(caller, form, { path: 'files', headers, startCheck }, requestId));
}
