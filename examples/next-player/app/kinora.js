import Mux from '@mux/mux-node';

export const baseURL = process.env.KINORA_URL;

/** The official SDK, connected to Kinora. Only for code that runs on the server: it holds the token. */
export const kinora = () => {
  const [tokenId, tokenSecret] = process.env.KINORA_TOKEN.split(':');
  return new Mux({ tokenId, tokenSecret, baseURL });
};
