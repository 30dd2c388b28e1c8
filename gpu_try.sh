cd course/lessons/experiments
python -c "import torch, triton; print(torch.__version__, triton.__version__, torch.cuda.get_device_name())"
for f in [!_]*.py; do n=${f%.py}; [ $n = capture ] && continue
timeout 100 python $f > /tmp/$n.out 2> /tmp/$n.err; rc=$?
if diff -Z -B /tmp/$n.out $n.txt > /tmp/$n.diff; then echo "same $n rc=$rc"; else echo "DIFFERS $n rc=$rc"; head -c 900 /tmp/$n.diff; tail -c 600 /tmp/$n.err; fi; done
