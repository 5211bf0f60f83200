/** The fields of Google's `generateContent` and `streamGenerateContent`. No session may send them. */
import { bills, type Members, type Rule, stored, values } from '../rules.ts';
import { inBothSpellings } from './common.ts';

const MEDIA: Members = {
  inlineData: bills('blob', { members: values('mimeType data displayName') }),
  fileData: stored(bills('blob', { members: values('mimeType fileUri displayName') })),
  mediaProcessing: 'any',
};

const PART: Members = {
  ...MEDIA,
  ...values('text thought thoughtSignature'),
  functionCall: { members: { ...values('id name willContinue'), args: 'any', partialArgs: 'any' } },
  functionResponse: {
    members: { ...values('id name scheduling willContinue'), response: 'any', parts: { list: { members: MEDIA } } },
  },
  // An earlier result of one of the vendor's own tools, sent back unchanged.
  executableCode: { members: values('code language id') },
  codeExecutionResult: { members: values('outcome output id') },
  toolCall: { members: { ...values('id toolType'), args: 'any' } },
  toolResponse: { members: { ...values('id toolType'), response: 'any' } },
  mediaResolution: { members: values('level') },
  videoMetadata: { members: values('startOffset endOffset fps') },
  partMetadata: 'any',
  audioTranscription: 'any',
  speechMetadata: 'any',
};

const CONTENT: Rule = { members: { role: 'value', parts: { list: { members: PART } } } };

const TOOL: Members = {
  functionDeclarations: {
    list: {
      members: {
        ...values('name description behavior'),
        parameters: 'any',
        parametersJsonSchema: 'any',
        response: 'any',
        responseJsonSchema: 'any',
      },
    },
  },
  computerUse: 'any',
  googleSearch: bills('webSearch', 'any'),
  googleSearchRetrieval: bills('webSearch', 'any'),
  enterpriseWebSearch: bills('webSearch', 'any'),
  googleMaps: bills('maps', 'any'),
  codeExecution: bills('code', 'any'),
  fileSearch: bills('fileSearch', 'any'),
  urlContext: bills('hosted', 'any'),
  mcpServers: bills('hosted', 'any'),
};

const VOICE: Rule = { members: { voice: 'value', prebuiltVoiceConfig: { members: values('voiceName') } } };

const CONFIG: Members = {
  ...values(
    `temperature topP topK stopSequences responseLogprobs logprobs presencePenalty frequencyPenalty seed
     responseMimeType mediaResolution enableEnhancedCivicAnswers audioTimestamp`,
  ),
  candidateCount: bills('answers'),
  maxOutputTokens: bills('outputBound'),
  responseModalities: bills('modalities'),
  responseSchema: 'any',
  responseJsonSchema: 'any',
  thinkingConfig: { members: values('includeThoughts thinkingBudget thinkingLevel') },
  speechConfig: bills('spoken', {
    members: {
      languageCode: 'value',
      voiceConfig: VOICE,
      multiSpeakerVoiceConfig: {
        members: { speakerVoiceConfigs: { list: { members: { speaker: 'value', voiceConfig: VOICE } } } },
      },
    },
  }),
  imageConfig: { members: values('aspectRatio imageSize personGeneration outputMimeType outputCompressionQuality') },
};

export const GENERATE_CONTENT: Members = inBothSpellings({
  ...values('model stream'),
  contents: { text: 'value', object: { list: CONTENT } },
  systemInstruction: CONTENT,
  generationConfig: { members: CONFIG },
  safetySettings: 'any',
  labels: 'any',
  tools: { list: { members: TOOL } },
  toolConfig: {
    members: {
      functionCallingConfig: 'any',
      retrievalConfig: 'any',
      includeServerSideToolInvocations: 'value',
    },
  },
  cachedContent: stored(),
  serviceTier: bills('serviceTier'),
  store: 'value',
});
