/**
 * Use case of the console: the effect of an estimate's profile on one stored sample, text by text.
 */
import { readMessages } from '../compression/conversation.ts';
import { compressMessages, listTexts } from '../compression/messages.ts';
import type { CompressionJob } from '../contract/compression.ts';
import type { OrganizationId } from '../domain/ids.ts';
import type { Env } from '../env.ts';
import { findSample } from '../history/samples.ts';

/** The texts of a sample that are shown. */
const TEXTS_MAX = 10;

export interface CompressionExample {
  sampleId: string;
  /** Texts that the profile changes, at most `TEXTS_MAX`. */
  texts: { role: string; before: string; after: string }[];
}

/** `null` if no sample became shorter, or the sample is gone. */
export async function readExample(
  env: Env,
  { organizationId }: { organizationId: OrganizationId },
  { exampleSampleId, profile }: Pick<CompressionJob, 'exampleSampleId' | 'profile'>,
): Promise<CompressionExample | null> {
  if (exampleSampleId === null) return null;
  const sample = await findSample(env, organizationId, exampleSampleId, Date.now());
  if (!sample) return null;
  const { input } = JSON.parse(sample.payload) as { input: unknown };
  const messages = readMessages(input);
  const after = listTexts(compressMessages(messages, profile).messages);
  const texts = listTexts(messages).flatMap(({ role, text: before }, index) => {
    const shorter = after[index]?.text ?? before;
    return shorter === before ? [] : [{ role, before, after: shorter }];
  });
  return { sampleId: exampleSampleId, texts: texts.slice(0, TEXTS_MAX) };
}
