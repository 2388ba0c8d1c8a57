import { ActionError, ERROR_STATUS, type ErrorKind, type InputIssue } from './errors.ts'
import type { ActionInput, ActionName, ActionOutput } from './registry.ts'

export type { Actor } from './accounts.ts'
export { ActionError, type ErrorKind } from './errors.ts'
export type * from './features.ts'
export { agentArguments, agentCommand, isLoopback, offersInstall } from './hub-url.ts'
export {
  BASE58,
  encodeRadix,
  isDeploymentToken,
  newDatedId,
  newId,
  publicIdOf,
  randomBase58,
} from './id-texts.ts'
export * from './limits.ts'
export type { LiveChange, LiveTopic } from './live.ts'
export { TIMESTAMP_TEXT } from './patterns.ts'
export { isColumnPath, isPropertyName } from './property-name.ts'
export type * from './registry.ts'
export * from './repository-path.ts'
export { withoutSecrets } from './secret-texts.ts'

export type InvokeOptions = {
  signal?: AbortSignal
  /** Lets the browser finish the request even if its page is closed meanwhile (option of `fetch`). */
  keepalive?: boolean
}

/** Runs the action with this name. Rejects with `ActionError` if it fails. */
export type Invoke = <N extends ActionName>(
  name: N,
  input: ActionInput<N>,
  options?: InvokeOptions,
) => Promise<ActionOutput<N>>

type ClientOptions = {
  /** Origin of the hub, such as `https://hub.example`. `''` means the origin of the current page. */
  baseUrl?: string
  headers?: Record<string, string>
  /** Older action names to send instead of the current names, for hubs that know only the older ones. */
  names?: Partial<Record<ActionName, string>>
  fetch?: typeof globalThis.fetch
  /** Parses the JSON text of an output, `JSON.parse` by default. Callers that need integers above 2^53 pass another parser. */
  parse?: (text: string) => unknown
}

/** Creates a typed client of the HTTP API. The hub validates the inputs, so the client loads no schema library. */
export function createClient({
  baseUrl = '',
  headers = {},
  names = {},
  fetch = globalThis.fetch,
  parse = JSON.parse,
}: ClientOptions = {}): Invoke {
  return async (name, input, options = {}) => {
    let response: Response
    let text = ''
    try {
      response = await fetch(`${baseUrl}/api/v1/actions/invoke/${names[name] ?? name}`, {
        method: 'POST',
        credentials: 'same-origin',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(input),
        ...(options.signal && { signal: options.signal }),
        ...(options.keepalive && { keepalive: true }),
      })
      if (response.ok) text = await response.text()
    } catch (cause) {
      throw new ActionError('Internal', 'The hub could not be reached.', { status: 0, cause })
    }
    if (!response.ok) throw await errorOf(response)
    try {
      return parse(text) as ActionOutput<typeof name>
    } catch {
      // A proxy can answer 200 with a page of its own, for example a sign-in page.
      throw foreignAnswer(response, text)
    }
  }
}

/** Limit of characters of a response from a proxy or an object store that are kept for diagnosis. */
const MAX_FOREIGN_CHARS = 200

/**
 * Creates the error for a response that the hub did not write, for example one of a proxy. The message is a human-readable
 * sentence with the status. `cause` is the beginning of the response body, because an object store explains its errors there.
 */
function foreignAnswer({ status, statusText, headers }: Response, text: string): ActionError {
  const retryAfterSecs = Number(headers.get('retry-after')) || undefined
  return new ActionError('Internal', `The hub could not be reached through its proxy (${status}).`, {
    status,
    cause: text.slice(0, MAX_FOREIGN_CHARS) || statusText,
    ...(retryAfterSecs !== undefined && { retryAfterSecs }),
  })
}

/**
 * Returns the error that a response with a status other than 2xx describes. A response that the hub did not write becomes
 * `Internal` with the status of the response.
 */
export async function errorOf(response: Response): Promise<ActionError> {
  const text = await response.text().catch(() => '')
  const body = parseErrorBody(text)
  if (!body) return foreignAnswer(response, text)
  const retryAfterSecs = Number(response.headers.get('retry-after')) || undefined
  return new ActionError(body.kind, body.message, {
    status: response.status,
    ...(body.issues && { issues: body.issues }),
    ...(body.requestId !== undefined && { requestId: body.requestId }),
    ...(retryAfterSecs !== undefined && { retryAfterSecs }),
  })
}

type ErrorBody = { kind: ErrorKind; message: string; issues?: InputIssue[]; requestId?: string }

function parseErrorBody(text: string): ErrorBody | undefined {
  try {
    const body = JSON.parse(text) as ErrorBody
    return Object.hasOwn(ERROR_STATUS, body.kind) && typeof body.message === 'string' ? body : undefined
  } catch {
    return undefined
  }
}
