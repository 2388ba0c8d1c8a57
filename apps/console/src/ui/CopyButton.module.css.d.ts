declare const styles: {
  readonly copied: string
  readonly failed: string
}
export default styles
