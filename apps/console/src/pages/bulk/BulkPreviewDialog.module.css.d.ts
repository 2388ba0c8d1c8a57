declare const styles: {
  readonly fixed: string
  readonly names: string
}
export default styles
