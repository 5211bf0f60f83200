/**
 * Forms with several parts: made of fields, and as a client sends them.
 */

export function buildForm(fields: Iterable<readonly [string, string | File]>): FormData {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
}

/** The content type, which has the boundary, and the bytes. */
export async function encodeForm(form: FormData): Promise<{ type: string; bytes: Uint8Array<ArrayBuffer> }> {
  const response = new Response(form);
  const type = response.headers.get('Content-Type') ?? '';
  return { type, bytes: new Uint8Array(await response.arrayBuffer()) };
}
