import { ActionError } from '@muster/actions'
import { DEFAULT_PORT } from '../../../link/proxy/hosts.ts'
import { personOf } from '../../../platform/pipeline/caller.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Longest validity of an HTTP proxy URL, in seconds. A longer validity is shortened (docs/decisions.md, "HTTP proxy"). */
const MAX_SECS = 7_200

/** Issues a URL through which a browser reaches a web server on the device. */
export const devices_IssueHttpProxyToken = handler(
  'devices_IssueHttpProxyToken',
  async (
    { tx, caller, scope, events, services },
    { deviceId, validForSecs = MAX_SECS, hostname, port = DEFAULT_PORT, protocol = 'http', redirect },
  ) => {
    const { hosts, tokens, publicUrl } = services.proxy
    const person = personOf(caller)
    // Only a person can get a URL, because it expires with the person's session, user token or membership.
    if (!person) throw new ActionError('Invalid', 'A link to a device is issued to a person.')
    const host = hostname?.toLowerCase() ?? hosts.defaultHost(deviceId, port)
    if (hostname !== undefined) await tokens.claimHost(tx, hosts, host, deviceId)
    const address = redirect === undefined ? undefined : URL.parse(redirect)
    if (address !== undefined && address?.origin !== publicUrl)
      throw new ActionError('Invalid', `redirect: expected an address that begins with ${publicUrl}/.`)
    const secs = Math.min(validForSecs, MAX_SECS)
    const jwt = await tokens.issue(tx, {
      deviceId,
      hostname: host,
      port,
      protocol,
      userId: person.userId,
      sessionId: person.actor === 'User' ? person.sessionId : undefined,
      userTokenId: person.actor === 'UserToken' ? person.tokenId : undefined,
      // `href` is ASCII without line breaks, as the `Location` header requires.
      redirect: address?.href,
      validForSecs: secs,
    })
    await events.emit('devices_PortForwarded', {
      projectId: scope.projectId!,
      deviceId,
      port,
      hostname: host,
      validForSecs: secs,
    })
    return { jwt, url: hosts.linkTo(host, jwt) }
  },
)
