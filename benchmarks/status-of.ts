import { type Agent, get } from 'node:http';

/** The status of an answer that was read to its end; `failed` if there was none. */
export function statusOf(address: string, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const request = get(address, { agent }, (response) => {
      response.resume();
      response.on('end', () => resolve(String(response.statusCode)));
      response.on('error', () => resolve('failed'));
    });
    request.on('error', () => resolve('failed'));
  });
}
