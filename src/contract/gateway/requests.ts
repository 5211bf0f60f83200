/**
 * Requests to the gateway, in the forms of OpenAI, Anthropic and Google with a few fields of our own.
 *
 * A schema checks only what the service itself reads; the vendor judges the rest of a body. Session tokens are the
 * exception: only some fields are open to them (the tables in src/gateway/dialects). Our own fields (`customer`,
 * `feature`, `tags`, `models`) are removed before the vendor gets the body.
 */
import { z } from 'zod';
import { EndFactFields } from '../call-facts.ts';
import { text } from '../fields.ts';
import { isRecord } from '../identity.ts';
import { ownFields } from './labels.ts';

/** The largest body of a request. */
export const GATEWAY_BODY_BYTES_MAX = 32 * 1024 * 1024;
/** The largest file, and the rest of its form. */
export const FILE_BODY_BYTES_MAX = 200 * 1024 * 1024 + 64 * 1024;
/** The largest part of an upload, and the rest of its form (OpenAI's SDK, resources/uploads/parts: 64 MB). */
export const PART_BODY_BYTES_MAX = 64 * 1024 * 1024 + 64 * 1024;
/** The longest list of fallback models in one request. */
export const FALLBACK_MODELS_MAX = 10;

/** The longest name of a model. */
export const MODEL_NAME_LENGTH_MAX = 330;

const modelName = text(MODEL_NAME_LENGTH_MAX);
const effort = EndFactFields.shape.reasoningEffort.nullable();

/** The fields that every request to a model has, wherever it names the model. */
export const LabelledFields = z.looseObject({
  ...ownFields,
  models: z
    .array(modelName)
    .max(FALLBACK_MODELS_MAX)
    .nullish()
    .describe('Tried in order after `model` if a vendor fails for a passing reason; with a session token two at most'),
});

/** A request to a model. The routes of Google name it in the path. */
export const ModelRequest = LabelledFields.extend({
  model: modelName.describe(
    '`provider/model`, a bare name that the catalog knows, `service/standard`, `service/premium` or `service/<alias>`',
  ),
  user: z.string().nullish().describe("The customer's user"),
});

/** The most images that one request edits. Source: OpenAI's API reference, `image` of image edits. */
const EDITED_IMAGES_MAX = 16;

/** A file of a form, in the form of src/platform/form-file.ts. No text and no JSON can look like one. */
const file = z
  .custom<{ bytes: number }>((value) => isRecord(value) && value.head instanceof Uint8Array, 'must be a file')
  .meta({ type: 'string', contentMediaType: 'application/octet-stream' });

/** A field that occurs once is a list with one item. */
const asList = (value: unknown): unknown => (value === undefined || Array.isArray(value) ? value : [value]);

/** Fields of a form are text. */
const asNumber = (value: unknown): unknown =>
  typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
const formStream = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((value) => value === 'true')
  .optional()
  .describe('`true`: answer with server-sent events');

/**
 * The fields of forms that clients repeat under one name to send a list; any other occurs once. Sources: OpenAI's API
 * reference of transcriptions and image edits; Mistral's and FastAPI's forms have lists without brackets.
 */
export const REPEATED_FIELDS = [
  'image',
  'include',
  'keywords',
  'known_speaker_names',
  'known_speaker_references',
  'languages',
  'models',
  'tags',
  'timestamp_granularities',
];

/** A request to a model as a form. */
const FormRequest = ModelRequest.extend({
  tags: z
    .preprocess(asList, ownFields.tags.unwrap().unwrap())
    .optional()
    .describe(`\`tags\` or \`tags[]\`. ${ownFields.tags.description}`),
  models: z
    .preprocess(asList, LabelledFields.shape.models.unwrap().unwrap())
    .optional()
    .describe(`\`models\` or \`models[]\`. ${LabelledFields.shape.models.description}`),
});

/** Fields of the service's other clients; they have no meaning for a vendor. */
const CLIENT_FIELDS = ['conversationId', 'conversationTitle', 'projectId', 'compress'];

/** The fields of a body that no vendor gets. */
export const OWN_FIELDS = [...Object.keys(ownFields), 'models', ...CLIENT_FIELDS];

const stream = z.boolean().nullish().describe('Answer with server-sent events');

export const ChatCompletionRequest = ModelRequest.extend({
  messages: z.array(z.unknown()).min(1).describe('The conversation'),
  stream,
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish() })
    .nullish()
    .describe('With `include_usage`: usage and cost at the end'),
  reasoning_effort: effort.describe('Lowered to the level that plan and model admit'),
  n: z.number().int().min(1).max(128).nullish().describe('Answers to make'),
});

export const ResponseRequest = ModelRequest.extend({
  stream,
  reasoning: z.looseObject({ effort }).nullish().describe('`effort` is lowered to the level that plan and model admit'),
  background: z
    .literal(false, {
      error: 'is not offered: nothing holds what a background response may cost for as long as it runs',
    })
    .nullish()
    .describe('Always `false`'),
});

export const CompactRequest = ModelRequest.extend({
  input: z.unknown().optional().describe('The conversation'),
  stream: z.literal(false, { error: 'is not offered here' }).nullish().describe('Always `false`'),
});

export const ResponseTokensRequest = ModelRequest.extend({
  input: z.unknown().optional().describe('The conversation'),
});

export const EmbeddingRequest = ModelRequest.extend({ input: z.unknown().describe('What is to be embedded') });

const messages = z.array(z.unknown()).min(1).describe('The conversation');

export const MessageRequest = ModelRequest.extend({
  messages,
  stream,
  thinking: z
    .looseObject({
      type: z.string().describe('`enabled`, `adaptive` or `disabled`'),
      budget_tokens: z.number().nullish().describe('Tokens of thinking, at most'),
    })
    .nullish()
    .describe('Lowered to the level that the plan admits'),
  output_config: z
    .looseObject({ effort: z.string().nullish() })
    .nullish()
    .describe('`effort` is lowered to the level that plan and model admit'),
  metadata: z
    .looseObject({ user_id: z.string().nullish().describe("The customer's user") })
    .nullish()
    .describe('Id of the request'),
});

export const MessageTokensRequest = ModelRequest.extend({ messages });

const contents = z.unknown().describe('The conversation');

export const GenerateContentRequest = LabelledFields.extend({ contents });

export const EmbedContentRequest = LabelledFields.extend({ content: z.unknown().describe('What is to be embedded') });

export const BatchEmbedContentsRequest = LabelledFields.extend({
  requests: z.array(z.looseObject({})).min(1).describe('What is to be embedded, each as a request of its own'),
});

export const CountTokensRequest = LabelledFields.extend({
  contents: z.unknown().optional().describe('The conversation'),
  generateContentRequest: z.looseObject({}).nullish().describe('A whole request, in place of `content`'),
});

export const ModerationRequest = ModelRequest.extend({
  // Source: OpenAI's API reference, POST /moderations.
  model: ModelRequest.shape.model.default('omni-moderation-latest'),
  input: z.unknown().describe('What is to be judged'),
});

const prompt = z
  .union([z.string(), z.array(z.unknown()).min(1)])
  .nullish()
  .describe('A text, a list of texts, or the same as tokens');

export const CompletionRequest = ModelRequest.extend({
  prompt,
  stream,
  stream_options: ChatCompletionRequest.shape.stream_options,
  n: ChatCompletionRequest.shape.n,
});

const imagePrompt = z.string().min(1).describe('What the image is to show');
/** The most images of one request. Source: OpenAI's API reference, `n` of images. */
const IMAGES_MAX = 10;
const images = z.number().int().min(1).max(IMAGES_MAX);

export const ImageRequest = ModelRequest.extend({
  prompt: imagePrompt,
  n: images.nullish().describe('Images to make'),
  stream,
  svg: z.null({ error: 'is not offered: a second model would write the SVG' }).optional().describe('Not offered'),
  output_format: z
    .string()
    .refine((format) => format !== 'svg', 'must not be svg: a second model would write it')
    .nullish()
    .describe('`png`, `jpeg`, `webp` or `gif`'),
});

export const SpeechRequest = ModelRequest.extend({
  input: z.string().min(1).describe('What is to be spoken'),
  stream_format: z.string().nullish().describe('`audio`, or `sse` for events with usage at the end'),
});

export const ImageEditForm = FormRequest.extend({
  prompt: imagePrompt,
  image: z
    .preprocess(asList, z.array(file, 'must be in the form').min(1).max(EDITED_IMAGES_MAX))
    .describe('The images to edit: `image`, or `image[]` for up to 16'),
  mask: file.optional().describe('Mask of the part of the first image to change'),
  n: z.preprocess(asNumber, images).optional().describe('Images to make'),
  stream: formStream,
});

const transcription = {
  file: file.describe('The recording'),
  response_format: z
    .string()
    .optional()
    .describe('`json`, `verbose_json` or `diarized_json`; or `text`, `srt` or `vtt`, which report no usage'),
};

export const TranscriptionForm = FormRequest.extend({ ...transcription, stream: formStream });

export const TranslationForm = FormRequest.extend(transcription);

export const BatchRequest = z.looseObject({
  ...ownFields,
  input_file_id: z
    .string()
    .regex(/^[\w.-]{1,200}$/, 'must be the id of a file')
    .describe('The uploaded file'),
  endpoint: z.string().min(1).max(200).describe('What each line asks for'),
});

export const UploadRequest = z.looseObject({
  filename: z.string().describe('Name of the file'),
  purpose: z.string().describe('What the file is for'),
  bytes: z.number().describe('Length of the whole file'),
  mime_type: z.string().describe('Media type of the file'),
});

export const CompleteUploadRequest = z.looseObject({
  part_ids: z.array(z.string()).min(1).describe('The parts, in the order in which they make the file'),
});

/** A parameter that passes unchanged: a name may occur more than once. */
const passed = z.union([z.string(), z.array(z.string())]).optional();

export const ModelsQuery = z.looseObject({
  pageSize: passed.describe("Models of a page in Google's form: 50 if absent, 1,000 at most"),
  pageToken: passed.describe("`nextPageToken` of the page before, in Google's form"),
});

export const RetrieveResponseQuery = z.looseObject({
  include: passed.describe('What the answer has besides, as the vendor names it'),
  stream: passed.describe('`true`: the events of the response, once more'),
  starting_after: passed.describe('With `stream`: the number of the event after which it begins'),
});

export const InputItemsQuery = z.looseObject({
  include: passed.describe('What the items have besides, as the vendor names it'),
  limit: passed.describe('Items of a page'),
  order: passed.describe('`asc` or `desc`'),
  after: passed.describe('The item before the first one of the page'),
});

export const OpenPathParams = z.object({
  provider: z.string().describe('The vendor'),
  path: z.string().describe("The path, from the root of the vendor's host; its slashes may be encoded"),
});

/** A request to an open path, if it is a JSON object. */
export const OpenPathRequest = LabelledFields.extend({
  model: z
    .unknown()
    .optional()
    .describe('As the vendor calls it, also after `provider/`; without one the call has no model'),
  user: z.unknown().optional().describe("The customer's user, if it is a text"),
});
