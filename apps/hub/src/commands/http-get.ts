import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { getCACertificates, type TLSSocket } from 'node:tls'

/** Bytes of an answer that are read. */
const MAX_BODY_BYTES = 4096

type Answer = {
  status: number
  body: string
  /** End of the server's certificate, and why it is not trusted. */
  certificate?: { endsAt: Date; problem: string | undefined }
}

/** Sends a GET request. A certificate that is not trusted does not make it fail, since a check of its own reports that. */
export function get(url: URL, signal: AbortSignal, headers: Record<string, string> = {}): Promise<Answer> {
  const options: RequestOptions = { agent: false, signal, headers }
  return new Promise((done, failed) => {
    const answered = async (response: IncomingMessage): Promise<void> => {
      const answer: Answer = { status: response.statusCode!, body: '' }
      if (url.protocol === 'https:') answer.certificate = certificateOf(response.socket as TLSSocket)
      for await (const chunk of response) {
        answer.body += String(chunk)
        if (answer.body.length > MAX_BODY_BYTES) break
      }
      done(answer)
    }
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, {
            ...options,
            rejectUnauthorized: false,
            ca: [...getCACertificates('default'), ...getCACertificates('system')],
          })
        : httpRequest(url, options)
    request.on('response', response => void answered(response).catch(failed))
    request.on('upgrade', (response, socket) => {
      socket.destroy()
      done({ status: response.statusCode!, body: '' })
    })
    request.on('error', failed)
    request.end()
  })
}

function certificateOf(socket: TLSSocket): NonNullable<Answer['certificate']> {
  const { authorized, authorizationError } = socket
  return {
    endsAt: new Date(socket.getPeerCertificate().valid_to),
    problem: authorized ? undefined : String(authorizationError),
  }
}
