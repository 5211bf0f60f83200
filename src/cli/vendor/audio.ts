/**
 * OpenAI's speech, which is silence of the length of the spoken text, and its transcriptions, which say that they are
 * made up.
 */
import type { TranscriptionSegment } from 'openai/resources/audio/transcriptions';
import { chooseVocabulary, tokensAtMost } from '../../vendors/token-count.ts';
import type { Fields } from '../../vendors/usage/figures.ts';
import type { Frame } from './dialect.ts';

const CHARACTERS_PER_SECOND = 15;
/** A frame of MPEG 1 layer III at 128 kbit/s and 44.1 kHz, without sound. */
const MP3_FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0xc4]), Buffer.alloc(413)]);
const MP3_FRAMES_PER_SECOND = 44_100 / 1_152;
const MP3_BYTES_PER_SECOND = 16_000;
const PCM_RATE = 24_000;
const PCM_BYTES_PER_SECOND = PCM_RATE * 2;
/** Source: developers.openai.com/api/docs/pricing: about 1.5 cents a minute at 12 USD per million tokens. */
const SPEECH_TOKENS_PER_SECOND = 21;
/** Source: developers.openai.com/api/docs/guides/images-vision; the same rate as in src/vendors/media-tokens.ts. */
const AUDIO_TOKENS_PER_SECOND = 10;
const EVENTS_MAX = 20;

const TYPES: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', wav: 'audio/wav', pcm: 'audio/pcm' };

export type Speech =
  | { ok: true; type: string; audio: Buffer; frames: Frame[]; inputTokens: number; outputTokens: number }
  | { ok: false; field: string; message: string };

export function makeSpeech({ model, input, response_format: format = 'mp3', stream_format: stream }: Fields): Speech {
  if (typeof input !== 'string' || input === '') return wrong('input', 'must be a text');
  const type = TYPES[String(format)];
  if (type === undefined) return wrong('response_format', 'must be mp3, wav or pcm here');
  if (stream === 'sse' && /^tts-1/.test(String(model))) return wrong('stream_format', 'must be audio for this model');
  const seconds = Math.ceil(input.length / CHARACTERS_PER_SECOND);
  const audio = silence(String(format), seconds);
  const inputTokens = tokensAtMost(input, chooseVocabulary('openai', String(model)));
  const outputTokens = seconds * SPEECH_TOKENS_PER_SECOND;
  const usage = { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
  const length = Math.ceil(audio.length / Math.min(seconds, EVENTS_MAX));
  const deltas = Array.from({ length: Math.ceil(audio.length / length) }, (_, index) => ({
    data: {
      type: 'speech.audio.delta',
      audio: audio.subarray(index * length, (index + 1) * length).toString('base64'),
    },
  }));
  return {
    ok: true,
    type,
    audio,
    frames: [...deltas, { data: { type: 'speech.audio.done', usage } }],
    inputTokens,
    outputTokens,
  };
}

function wrong(field: string, message: string): Speech {
  return { ok: false, field, message: `${field}: ${message}` };
}

function silence(format: string, seconds: number): Buffer {
  if (format === 'mp3')
    return Buffer.concat(Array.from({ length: Math.ceil(seconds * MP3_FRAMES_PER_SECOND) }, () => MP3_FRAME));
  const samples = Buffer.alloc(seconds * PCM_BYTES_PER_SECOND);
  return format === 'pcm' ? samples : Buffer.concat([waveHead(samples.length), samples]);
}

/** Source: the WAVE format, 16 bits and one channel. */
function waveHead(bytes: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + bytes, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(PCM_RATE, 24);
  head.writeUInt32LE(PCM_BYTES_PER_SECOND, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(bytes, 40);
  return head;
}

export interface Transcript {
  /** The answer: JSON, or text. */
  body: Fields | string;
  frames: Frame[];
  /** The tokens of the usage; 0 of a model that bills seconds. */
  inputTokens: number;
  outputTokens: number;
}

const TEXT = 'This transcription is made up: no model was asked.';

/** For a recording with this many bytes, as if it were an MP3 at 128 kbit/s. */
export function makeTranscript({ model, response_format: format = 'json' }: Fields, bytes: number): Transcript {
  const seconds = Math.ceil(bytes / MP3_BYTES_PER_SECOND);
  const isWhisper = /^whisper/.test(String(model));
  const inputTokens = isWhisper ? 0 : seconds * AUDIO_TOKENS_PER_SECOND;
  const outputTokens = isWhisper ? 0 : tokensAtMost(TEXT, chooseVocabulary('openai', String(model)));
  const tokens = {
    type: 'tokens',
    input_tokens: inputTokens,
    input_token_details: { text_tokens: 0, audio_tokens: inputTokens },
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  const usage = isWhisper ? { type: 'duration', seconds } : tokens;
  const words = TEXT.match(/\S+\s*/g) ?? [];
  return {
    body: transcriptBody(String(format), seconds, usage),
    frames: [
      ...words.map((delta) => ({ data: { type: 'transcript.text.delta', delta } })),
      { data: { type: 'transcript.text.done', text: TEXT, usage } },
    ],
    inputTokens,
    outputTokens,
  };
}

function transcriptBody(format: string, seconds: number, usage: Fields): Fields | string {
  const end = new Date(seconds * 1_000).toISOString().slice(11, 23);
  switch (format) {
    case 'text':
      return `${TEXT}\n`;
    case 'srt':
      return `1\n00:00:00,000 --> ${end.replace('.', ',')}\n${TEXT}\n\n`;
    case 'vtt':
      return `WEBVTT\n\n00:00:00.000 --> ${end}\n${TEXT}\n\n`;
    case 'verbose_json':
      return { ...timed(seconds, usage), language: 'english', segments: [segmentOf(seconds)] };
    case 'diarized_json': {
      const segment = { type: 'transcript.text.segment', id: 'seg_001', start: 0, end: seconds, text: TEXT };
      return { ...timed(seconds, usage), segments: [{ ...segment, speaker: 'A' }] };
    }
    default:
      return { text: TEXT, usage };
  }
}

function timed(seconds: number, usage: Fields): Fields {
  return { task: 'transcribe', duration: seconds, text: TEXT, usage };
}

/** All of a recording. The tokens of its text belong to a vocabulary that is not here. */
function segmentOf(seconds: number): TranscriptionSegment {
  return {
    id: 0,
    seek: 0,
    start: 0,
    end: seconds,
    text: TEXT,
    tokens: [],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 1,
    no_speech_prob: 0,
  };
}
