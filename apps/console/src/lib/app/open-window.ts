/**
 * Opens a window at once and loads the address when the hub has issued it. Pop-up blockers stop windows that are opened
 * later than the click. When issuing fails, closes the window and rejects.
 */
export async function openIssued(issue: () => Promise<{ url: string }>): Promise<void> {
  const opened = window.open('about:blank')
  try {
    if (!opened)
      throw new Error('The browser blocked the new window. Allow windows from this site and try again.')
    opened.opener = null
    const { url } = await issue()
    opened.location.replace(url)
  } catch (error) {
    opened?.close()
    throw error
  }
}
