/** A page that explains why a device's page cannot be shown. */
type ProxyPage = { status: number; title: string; text: string; help: string }

/** Pages that explain why a request did not reach a device, by the name of the reason. */
export const PAGES = {
  noLink: {
    status: 401,
    title: 'This link has ended',
    text: 'The link to this device is missing, expired or no longer allowed.',
    help: 'Open the device in the console and choose HTTP Proxy for a new one.',
  },
  wrongHost: {
    status: 421,
    title: 'No device here',
    text: 'No device is reached under this address.',
    help: 'Check the address, or open the device in the console and choose HTTP Proxy.',
  },
  otherSite: {
    status: 403,
    title: 'Not from here',
    text: 'Another site asked for this device’s page.',
    help: 'Open the device in the console and choose HTTP Proxy.',
  },
  worker: {
    status: 403,
    title: 'No service workers here',
    text: 'A service worker would go on answering for this device when the link to it has ended.',
    help: 'Use the page without one, as under the device’s own address.',
  },
  unclear: {
    status: 400,
    title: 'Not a clear request',
    text: 'The device might read this request in another way than the hub.',
    help: 'Load this page again, or check the program that asked.',
  },
  largeCookies: {
    status: 431,
    title: 'Too many cookies',
    text: 'The cookies for this page were too large. A page of a device has set them for all devices. They have been removed.',
    help: 'Load this page again. If that does not help, remove the cookies of this site in your browser.',
  },
  offline: {
    status: 503,
    title: 'The device is not connected',
    text: 'The hub cannot reach the device at the moment.',
    help: 'Wait until the console shows it as connected, then load this page again.',
  },
  unchecked: {
    status: 503,
    title: 'The hub cannot check this link',
    text: 'The database of the hub does not answer at the moment.',
    help: 'Load this page again in a moment.',
  },
  busy: {
    status: 503,
    title: 'Too many requests',
    text: 'More requests wait for this device than it can answer.',
    help: 'Load this page again in a moment.',
  },
  limit: {
    status: 429,
    title: 'Too many open requests',
    text: 'You have too many open requests to pages of devices.',
    help: 'Close other pages of devices, then load this page again.',
  },
  refused: {
    status: 502,
    title: 'Nothing answers on the device',
    text: 'The device is connected, but no service accepts connections on this port of its loopback address.',
    help: 'Check that the web server runs and listens on this port of 127.0.0.1. Only some agents also reach ::1.',
  },
  hungUp: {
    status: 502,
    title: 'The device sent no answer',
    text: 'The connection to this port ended before an answer began. Nothing listens there, or the service closed it.',
    help: 'Check that the web server runs, and whether it expects HTTP or HTTPS.',
  },
  silent: {
    status: 504,
    title: 'Nothing answers on the device',
    text: 'No service accepted the connection to this port in time.',
    help: 'Check that the web server runs and that no firewall of the device drops connections.',
  },
  noForwards: {
    status: 502,
    title: 'The device forwards no ports',
    text: 'The agent of this device accepts no connections to ports of the device.',
    help: 'Check the version and the configuration of the agent.',
  },
  tls: {
    status: 502,
    title: 'This port expects HTTPS',
    text: 'The service on this port of the device speaks TLS, and this link speaks plain HTTP.',
    help: 'Open the port again with HTTPS. The certificate of the device is not verified then.',
  },
  noTls: {
    status: 502,
    title: 'This port does not speak HTTPS',
    text: 'This link speaks HTTPS, but the service on this port of the device does not answer with TLS.',
    help: 'Open the port again with HTTP.',
  },
  tlsRefused: {
    status: 502,
    title: 'The device refused HTTPS',
    text: 'The service on this port of the device ended the TLS connection with an alert.',
    help: 'Check the settings of the service. It may ask for a certificate of its clients, and the hub has none.',
  },
  nonsense: {
    status: 502,
    title: 'The device does not speak HTTP',
    text: 'What the device answered is not a valid HTTP response.',
    help: 'Check that the port belongs to a web server.',
  },
  timeout: {
    status: 504,
    title: 'The device did not answer in time',
    text: 'The service on the device accepted the request and sent nothing.',
    help: 'Check the service on the device, then load this page again.',
  },
} as const satisfies Record<string, ProxyPage>

export type PageName = keyof typeof PAGES

/** A link that a page offers. */
type PageLink = { label: string; href: string }

/**
 * Error for a request that does not reach a device. `page` is the name of the page that explains the reason, `link` what it offers.
 */
export class Unreachable extends Error {
  readonly page: PageName
  readonly link: PageLink | undefined

  constructor(page: PageName, cause?: unknown, link?: PageLink) {
    super(PAGES[page].title, { cause })
    this.page = page
    this.link = link
  }
}

const STYLE = `:root{color-scheme:light dark}body{margin:0;min-height:100vh;display:grid;place-items:center;
font:16px/24px ui-sans-serif,system-ui,sans-serif;background:#faf9f6;color:#171c24}main{max-width:440px;padding:32px}
h1{font-size:28px;line-height:34px;letter-spacing:-.02em;margin:0 0 12px}p{margin:0 0 8px}p+p{color:#4a4f57}a{color:inherit}
small{color:#636870}@media(prefers-color-scheme:dark){body{background:#0c0f15;color:#eef0f4}p+p{color:#babec6}small{color:#9a9fa8}}`

/** The page as HTML. All of its text is the hub's own, so only the address of the link needs escaping. */
export function pageHtml({ status, title, text, help }: ProxyPage, link?: PageLink): string {
  const href = link?.href.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  const offer = link === undefined ? '' : `<p><a href="${href}">${link.label}</a></p>`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title><style>${STYLE}</style><main><h1>${title}</h1><p>${text}</p><p>${help}</p>${offer}<small>${status} · Muster</small></main></html>
`
}
