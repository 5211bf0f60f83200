/**
 * The clients of `npm run test:clients`, set up like their users do: only with base URL and key. A turn is one run of
 * the program, and states its expected result.
 *
 * Prompts ask the vendor for trying out (`npm run vendor -- --help`) for a text answer, or for a call of a tool whose
 * name contains one of their words.
 */
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Turn {
  does: string;
  command: string;
  args: readonly string[];
  env?: Record<string, string>;
  /** Its output contains all of these. */
  prints: readonly string[];
  /** Calls that are metered. */
  calls: number;
  /** Further routes that it must ask, with success. */
  routes?: readonly string[];
}

/** The address of the gateway for a client. */
interface Access {
  url: string;
  key: string;
}

/** Folders that are the client's own. */
export interface Place {
  /** The folder of its installation. */
  installed: string;
  home: string;
  /** The folder in which it works. */
  work: string;
}

export interface Program {
  id: string;
  title: string;
  packageName: string;
  /** The version that runs by default. */
  version: string;
  /** Packages that it needs beside, with their versions. */
  beside?: Record<string, string>;
  /** The package is complete only after its own script. */
  hasScript: boolean;
  /** Settings in its environment. */
  env(access: Access): Record<string, string>;
  /** Writes the files that it needs. */
  prepare(place: Place, access: Access): Promise<void>;
  turns(place: Place): readonly Turn[];
}

const QUESTION = 'What is the capital of France?';
/** How the vendor for trying out answers a question, and the result of a tool. */
const SAID = `You said: "${QUESTION}"`;
const TOOL_SAID = 'The tool said: "';
const GPT = 'gpt-6-luna';

const claude: Program = {
  id: 'claude',
  title: 'Claude Code',
  packageName: '@anthropic-ai/claude-code',
  version: '2.1.330',
  hasScript: true,
  env: ({ url, key }) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key }),
  prepare: ({ work }) => writeFile(join(work, 'notes.txt'), 'Nothing of note.\n'),
  turns: ({ installed }) => {
    const command = join(installed, 'node_modules', '.bin', 'claude');
    return [
      // It sends reminders of its own before the question.
      { does: 'answers a question', command, args: ['-p', QUESTION], prints: ['This answer is made up'], calls: 1 },
      { does: 'calls a tool', command, args: ['-p', 'Read the file notes.txt'], prints: [TOOL_SAID], calls: 2 },
      {
        does: 'counts tokens',
        command,
        args: ['-p', '/context'],
        prints: ['Estimated usage by category'],
        calls: 0,
        routes: ['POST /v1/messages/count_tokens'],
      },
      {
        does: 'lists models',
        command,
        args: ['-p', QUESTION],
        env: { CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1' },
        prints: ['This answer is made up'],
        calls: 1,
        routes: ['GET /v1/models'],
      },
    ];
  },
};

const codex: Program = {
  id: 'codex',
  title: 'Codex',
  packageName: '@openai/codex',
  version: '0.169.0',
  hasScript: false,
  env: ({ key }) => ({ CALLMETER_KEY: key }),
  async prepare({ home }, { url }) {
    await mkdir(join(home, '.codex'));
    const lines = [
      `model = "${GPT}"`,
      'model_provider = "callmeter"',
      '[model_providers.callmeter]',
      'name = "Callmeter"',
      `base_url = "${url}/v1"`,
      'env_key = "CALLMETER_KEY"',
      'wire_api = "responses"',
    ];
    await writeFile(join(home, '.codex', 'config.toml'), lines.map((line) => `${line}\n`).join(''));
  },
  turns: ({ installed }) => {
    const command = join(installed, 'node_modules', '.bin', 'codex');
    const exec = (prompt: string) => ['exec', '--skip-git-repo-check', prompt];
    return [
      { does: 'answers a question', command, args: exec(QUESTION), prints: [SAID], calls: 1 },
      { does: 'calls a tool', command, args: exec('Which agents are there?'), prints: [TOOL_SAID], calls: 2 },
    ];
  },
};

const MASTRA_SCRIPT = 'mastra.mjs';

const mastra: Program = {
  id: 'mastra',
  title: 'Mastra',
  packageName: '@mastra/core',
  version: '1.71.0',
  hasScript: false,
  env: ({ url, key }) => ({ CALLMETER_URL: url, CALLMETER_KEY: key }),
  // Placed beside its packages, so that it finds them.
  prepare: ({ installed }) => copyFile(join(import.meta.dirname, MASTRA_SCRIPT), join(installed, MASTRA_SCRIPT)),
  turns: ({ installed }) => [
    {
      does: 'answers, streams, calls a tool, and makes an object',
      command: process.execPath,
      args: [join(installed, MASTRA_SCRIPT), QUESTION],
      prints: [
        `answer: This answer is made up: no model was asked. ${SAID}`,
        'stream: This answer is made up',
        'It rains in made up',
        'object: {"city":"made up"}',
      ],
      calls: 5,
    },
  ],
};

const AI_SDK_SCRIPT = 'ai-sdk.mjs';

const aiSdk: Program = {
  id: 'ai-sdk',
  title: 'AI SDK',
  packageName: '@ai-sdk/openai',
  version: '4.0.118',
  beside: { ai: '7.0.173' },
  hasScript: false,
  env: ({ url, key }) => ({ CALLMETER_URL: url, CALLMETER_KEY: key }),
  prepare: ({ installed }) => copyFile(join(import.meta.dirname, AI_SDK_SCRIPT), join(installed, AI_SDK_SCRIPT)),
  turns: ({ installed }) => [
    {
      does: 'transcribes a recording, with segments',
      command: process.execPath,
      args: [join(installed, AI_SDK_SCRIPT)],
      prints: ['text: This ', 'segments: 1, the first from 0'],
      calls: 1,
      routes: ['POST /v1/audio/transcriptions'],
    },
  ],
};

export const CLIENTS: readonly Program[] = [claude, codex, mastra, aiSdk];
