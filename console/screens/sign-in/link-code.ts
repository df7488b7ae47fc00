/** Whether the address is a link that signs in. */
export const hasLinkCode = (): boolean => location.pathname.endsWith('/login') && location.hash.length > 1;

/**
 * The code of the link that the server prints when it starts: `/console/login#CODE`. It works once,
 * so it is taken out of the address before it is used, and asking for it again answers nothing.
 */
export const takeLinkCode = (): string | undefined => {
  if (!hasLinkCode()) return undefined;
  const code = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  return decodeURIComponent(code);
};
