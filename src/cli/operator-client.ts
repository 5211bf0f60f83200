/**
 * The operator API from the command line: one request, one envelope.
 */
export interface Reply {
  status: number;
  body: { result?: { code: string; message?: string }; data?: unknown; error?: { details?: { path: string; message: string }[] } };
}

export class OperatorClient {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  async send(method: string, path: string, body?: unknown): Promise<Reply> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { Authorization: `Bearer ${this.#token}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    try {
      return { status: response.status, body: JSON.parse(text) as Reply['body'] };
    } catch {
      throw new Error(`${method} ${path} answered ${response.status} without JSON: ${text.slice(0, 200)}`);
    }
  }

  /** The data of a success; throws on a refusal. */
  async demand(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await this.send(method, path, body);
    if (reply.status !== 200) throw new Error(`${method} ${path}: ${reply.body.result?.code} ${reply.body.result?.message ?? ''}`);
    return reply.body.data;
  }
}
