/** The fields of the endpoints other than conversations. No session may send them. */
import { bills, type Members, type Rule, values } from '../rules.ts';
import { inBothSpellings } from './common.ts';

export const COMPLETIONS: Members = {
  ...values('model echo frequency_penalty logprobs presence_penalty seed stop stream suffix temperature top_p user'),
  ...values('prompt'),
  best_of: bills('answers'),
  n: bills('answers'),
  max_tokens: bills('outputBound'),
  logit_bias: 'any',
  stream_options: { members: values('include_usage include_obfuscation') },
};

export const EMBEDDINGS: Members = {
  ...values('model input dimensions encoding_format user input_type truncate'),
};

const CONTENT: Rule = {
  members: {
    role: 'value',
    parts: {
      list: {
        members: {
          text: 'value',
          inlineData: bills('blob', { members: values('mimeType data displayName') }),
          fileData: bills('stored', bills('blob', { members: values('mimeType fileUri displayName') })),
        },
      },
    },
  },
};
const EMBED_ONE: Members = {
  ...values('model taskType title outputDimensionality autoTruncate'),
  content: CONTENT,
  embedContentConfig: { members: values('taskType title outputDimensionality autoTruncate mimeType') },
};
export const EMBED_CONTENT: Members = inBothSpellings(EMBED_ONE);
export const BATCH_EMBED_CONTENTS: Members = inBothSpellings({
  model: 'value',
  requests: { list: { members: EMBED_ONE } },
});

const PICTURE: Members = {
  ...values(
    `model prompt background moderation output_compression output_format partial_images quality response_format
     safety_identifier size stream style user`,
  ),
  n: bills('answers'),
};
export const IMAGES: Members = PICTURE;
export const IMAGE_EDITS: Members = {
  ...PICTURE,
  input_fidelity: 'value',
  image: bills('image', 'any'),
  mask: bills('image', 'any'),
};

export const SPEECH: Members = {
  ...values('model input instructions response_format speed stream_format'),
  voice: 'any',
};

export const TRANSCRIPTIONS: Members = {
  ...values(
    `model keywords known_speaker_names known_speaker_references language languages prompt response_format stream
     temperature timestamp_granularities include`,
  ),
  chunking_strategy: 'any',
  file: bills('audio', 'any'),
};

export const MODERATIONS: Members = { model: 'value', input: 'any' };
