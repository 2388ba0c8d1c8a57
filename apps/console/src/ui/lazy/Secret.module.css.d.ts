declare const styles: {
  readonly copied: string
  readonly secret: string
}
export default styles
