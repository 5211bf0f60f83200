// A transcription by the AI SDK as its users write it: the text, and the segments with their times.
import { createOpenAI } from '@ai-sdk/openai';
import { transcribe } from 'ai';

const { CALLMETER_URL, CALLMETER_KEY } = process.env;
const openai = createOpenAI({ baseURL: `${CALLMETER_URL}/v1`, apiKey: CALLMETER_KEY });

/** One second of silence: 16,000 samples of 8 bits, with the header of a WAV file. */
const SAMPLES = 16_000;
const HEADER_BYTES = 44;
const audio = Buffer.alloc(HEADER_BYTES + SAMPLES, 0x80);
audio.write('RIFF', 0);
audio.writeUInt32LE(HEADER_BYTES - 8 + SAMPLES, 4);
audio.write('WAVEfmt ', 8);
audio.writeUInt32LE(16, 16);
audio.writeUInt16LE(1, 20);
audio.writeUInt16LE(1, 22);
audio.writeUInt32LE(SAMPLES, 24);
audio.writeUInt32LE(SAMPLES, 28);
audio.writeUInt16LE(1, 32);
audio.writeUInt16LE(8, 34);
audio.write('data', 36);
audio.writeUInt32LE(SAMPLES, 40);

const { text, segments } = await transcribe({
  model: openai.transcription('whisper-1'),
  audio,
  providerOptions: { openai: { timestampGranularities: ['segment'] } },
});
console.log(`text: ${text}`);
console.log(`segments: ${segments.length}, the first from ${segments[0]?.startSecond}`);
