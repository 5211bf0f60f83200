/**
 * Corrections on the wire: what was recorded by mistake is taken back, with a reason.
 */
import { z } from 'zod';
import { text } from './fields.ts';

export const CorrectionRequest = z.object({
  reason: text(200).describe('Why it is corrected; kept with the record'),
});

export type CorrectionRequest = z.infer<typeof CorrectionRequest>;
