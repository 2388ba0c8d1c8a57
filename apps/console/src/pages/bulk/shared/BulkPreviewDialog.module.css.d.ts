declare const styles: {
  readonly names: string
}
export default styles
