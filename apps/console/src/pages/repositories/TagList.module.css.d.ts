declare const styles: {
  readonly tags: string
}
export default styles
