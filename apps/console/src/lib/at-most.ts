/** Lets at most `limit` tasks run at once; the others wait for their turn and leave the queue when aborted. */
export function atMost(limit: number) {
  let running = 0
  const waiting = new Set<() => void>()

  function release() {
    running--
    const [next] = waiting
    next?.()
  }

  return async function take<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (running >= limit) {
      await new Promise<void>((resolve, reject) => {
        const turn = () => {
          waiting.delete(turn)
          signal?.removeEventListener('abort', leave)
          resolve()
        }
        const leave = () => {
          waiting.delete(turn)
          reject(signal?.reason)
        }
        waiting.add(turn)
        signal?.addEventListener('abort', leave, { once: true })
      })
    }
    running++
    try {
      return await task()
    } finally {
      release()
    }
  }
}
