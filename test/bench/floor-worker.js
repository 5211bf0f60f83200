// The floor: a Worker that does nothing but answer with a constant JSON.
const body = JSON.stringify({ ok: true });

export default {
  fetch() {
    return new Response(body, { headers: { 'Content-Type': 'application/json' } });
  },
};
