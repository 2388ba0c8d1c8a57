// Downloads one file repeatedly over raw keep-alive sockets. Counts bytes without reading them. Forked by a bench.
import { connect } from 'node:net'
import { answering } from './child.ts'

export type DownloadLoad = { url: string; connections: number; secs: number }
export type DownloadRun = { perSec: number }

answering(async ({ url, connections, secs }: DownloadLoad): Promise<DownloadRun> => {
  const started = performance.now()
  const counts = await Promise.all(
    Array.from({ length: connections }, () => downloads(new URL(url), started + secs * 1000)),
  )
  const count = counts.reduce((sum, one) => sum + one, 0)
  return { perSec: count / ((performance.now() - started) / 1000) }
})

/** Downloads over one connection until `endsAt`; resolves to the number of complete downloads. */
function downloads({ hostname, port, pathname, search }: URL, endsAt: number): Promise<number> {
  const request = `GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`
  return new Promise((done, failed) => {
    const socket = connect(Number(port), hostname, () => socket.write(request))
    let count = 0
    let leftBytes = 0
    let head = ''
    socket.on('data', chunk => {
      let bytes = chunk.length
      if (leftBytes === 0) {
        head += chunk.subarray(0, 4096).toString('latin1')
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        if (!head.startsWith('HTTP/1.1 200')) return failed(new Error(head.slice(0, 200)))
        leftBytes = Number(/\r\ncontent-length: (\d+)/i.exec(head)![1])
        // Assumes that the response head, which is small, arrived in one chunk.
        bytes -= end + 4
        head = ''
      }
      leftBytes -= bytes
      if (leftBytes > 0) return
      count++
      if (performance.now() < endsAt) socket.write(request)
      else {
        socket.destroy()
        done(count)
      }
    })
    socket.on('error', failed)
  })
}
