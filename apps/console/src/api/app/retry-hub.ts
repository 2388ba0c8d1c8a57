let retry = () => {}

/** Sets the function that reconnects to the hub at once. */
export function setRetry(next: () => void) {
  retry = next
}

/** Tries to connect at once, instead of at the next planned time. */
export function tryNow() {
  retry()
}
