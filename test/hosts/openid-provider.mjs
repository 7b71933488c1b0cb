/** A certified OpenID provider, with two people: ann is in the group `ops`, and bob is not. Any password is right. */
import { Provider } from 'oidc-provider';

const { PORT, CLIENT_ID, CLIENT_SECRET, BASE_URL } = process.env;
const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  clients: [
    {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: [`${BASE_URL}/callback`],
      post_logout_redirect_uris: [BASE_URL],
    },
  ],
  claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
  scopes: ['openid', 'profile', 'groups'],
  // Claims are in the token, not only behind a further request.
  conformIdTokenClaims: false,
  cookies: { keys: ['only for tests'] },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: id, groups: id === 'ann' ? ['ops'] : ['sales'] }),
  }),
});
// Its pages take a font from another server.
provider.use(async (context, next) => {
  await next();
  if (typeof context.body === 'string') context.body = context.body.replaceAll(/@import[^;]*;/g, '');
});
provider.listen(Number(PORT), '127.0.0.1');
