(define (problem tower-of-four) (:domain blocksworld)
  (:objects a b c d - block)
  (:init (on-table a) (on b a) (on-table c) (on d c) (clear b) (clear d) (handempty))
  (:goal (and (on a b) (on b c) (on c d))))
