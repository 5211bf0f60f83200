// The floor of the gateway: a Worker that passes a request to the vendor and the answer back, and knows nothing of either.
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-bench' };
    return fetch(request.headers.get('x-vendor') + pathname, { method: 'POST', headers, body: request.body });
  },
};
